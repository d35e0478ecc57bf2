/* The broker under fire, by packaging/broker; ACEMQ_TEST_BROKER_CONTROL names that program. */
#ifndef ACEMQ_TESTS_FAULT_RABBIT_H
#define ACEMQ_TESTS_FAULT_RABBIT_H

#include <sys/types.h>

/* Its arguments, NULL last. Ends the process when it fails. */
void rabbit(const char *first, ...) __attribute__((sentinel));
/* Its exit status. */
int rabbit_try(const char *first, ...) __attribute__((sentinel));
void rabbit_alarm(int raised);

/* Starts a program that inherits descriptors which are not closed on exec. */
pid_t fault_spawn(char *const arguments[]);
/* Its exit status; 128 and the signal's number; -1 when it has not ended within `wait` ms. */
int fault_reap(pid_t process, long wait);

#endif
