/* Why a broker could not be reached, when several hosts or addresses were tried. */
#ifndef ACE_ENGINE_REFUSAL_H
#define ACE_ENGINE_REFUSAL_H

#include "base/error.h"

#include <stdbool.h>

/* Trying again changes nothing by itself: a login, a virtual host or a certificate is refused. */
bool ace_refusal_is_permanent(ace_code code);

/* Both take both errors over, of which `earlier` may be NULL, and give one back. What is permanent
 * gives the code, so that it does not hide behind a host that is merely down. */
ace_error *ace_refusal_prefer(ace_error *earlier, ace_error *later); /* one of the two */
ace_error *ace_refusal_join(ace_error *earlier, ace_error *later);   /* with both texts */

#endif
