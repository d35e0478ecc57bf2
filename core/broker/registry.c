/* Names of brokers in this process, and the lock of their references. */
#include "broker/server.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t prepared = PTHREAD_ONCE_INIT;
static ace_list brokers;

/* A child must not inherit the lock from a thread that it does not have. */
static void prepare(void)
{
    ace_list_init(&brokers);
    pthread_atfork(ace_broker_registry_lock, ace_broker_registry_unlock,
                   ace_broker_registry_unlock);
}

void ace_broker_registry_lock(void)
{
    pthread_once(&prepared, prepare);
    ace_mutex_lock(&lock);
}

void ace_broker_registry_unlock(void)
{
    ace_mutex_unlock(&lock);
}

ace_broker *ace_broker_registry_find(const char *name)
{
    for (ace_link_node *node = ace_list_first(&brokers); node;
         node = ace_list_next(&brokers, node)) {
        ace_broker *broker = ACE_RECORD(node, ace_broker, registered);

        /* The parent's are not this process's. */
        if (broker->process == getpid() && strcmp(broker->name, name) == 0)
            return broker;
    }
    return NULL;
}

void ace_broker_registry_add(ace_broker *broker)
{
    ace_list_append(&brokers, &broker->registered);
}

void ace_broker_registry_remove(ace_broker *broker)
{
    if (ace_list_contains_node(&broker->registered))
        ace_list_remove(&brokers, &broker->registered);
}
