/* The PostgreSQL of the tests: the one at ACEMQ_TEST_POSTGRES; what needs it fails without it. */
#ifndef ACEMQ_TESTS_POSTGRES_H
#define ACEMQ_TESTS_POSTGRES_H

#include "store/postgres_connection.h"

const char *postgres_url(void);
/* Runs statements on a connection of its own. */
void postgres_must(const char *statement);
int64_t postgres_number(const char *query);
/* Ends all other sessions of the server, as an administrator would. */
void postgres_drop_sessions(void);
/* A table name that no other test uses; dropped when the process ends. */
const char *postgres_table(void);
/* packaging/postgres COMMAND. */
void postgres_control(const char *command);

#endif
