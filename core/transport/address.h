/* Addresses as text, and names as addresses. */
#ifndef ACE_TRANSPORT_ADDRESS_H
#define ACE_TRANSPORT_ADDRESS_H

#include "base/error.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

typedef struct ace_address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } socket;
    socklen_t length;
} ace_address;

typedef struct ace_address_list { /* all of one name, in the resolver's order */
    size_t count;                 /* at least 1 */
    ace_address *addresses;
    char *name; /* "host:port", IPv6 literals in brackets */
} ace_address_list;

/* Asks the resolver and blocks meanwhile, seconds if need be: never on an I/O thread. `host` is a
 * name or a literal, IPv6 with or without brackets. ACE_UNREACHABLE: the name does not resolve.
 * ACE_INVALID_ARGUMENT: port 0 or an empty host. */
ace_code ace_address_resolve(const char *host, uint16_t port, ace_address_list **list,
                             ace_error **error);
/* The same for binding, where port 0 stands for any. */
ace_code ace_address_resolve_own(const char *host, uint16_t port, ace_address_list **list,
                                 ace_error **error);
void ace_address_list_free(ace_address_list *list); /* NULL is fine */

#define ACE_ADDRESS_TEXT_MAX 80
/* "192.0.2.7:5672", "[2001:db8::7]:5672" */
void ace_address_format(const ace_address *address, char text[ACE_ADDRESS_TEXT_MAX]);
uint16_t ace_address_port(const ace_address *address);
bool ace_address_equal(const ace_address *a, const ace_address *b);
/* The address of a socket's own end, and of its peer's. False: it has none. */
bool ace_address_of_socket(int descriptor, ace_address *address);
bool ace_address_of_peer(int descriptor, ace_address *address);

#endif
