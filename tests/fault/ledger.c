#include "ledger.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int64_t fault_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int fault_parse(const char *text, const char *prefix)
{
    size_t length = strlen(prefix);
    char *end = NULL;
    if (strncmp(text, prefix, length) != 0) {
        return -1;
    }
    errno = 0;
    long number = strtol(text + length, &end, 10);
    bool is_number = errno == 0 && end != text + length && number >= 0 && number <= INT32_MAX;
    return is_number ? (int)number : -1;
}

void fault_nap(int64_t milliseconds)
{
    struct timespec wait = {milliseconds / 1000, (milliseconds % 1000) * 1000000};
    (void)nanosleep(&wait, NULL);
}

void fault_die(const char *what)
{
    char space[128];
    fprintf(stderr, "tests/fault: %s: %s\n", what, strerror_r(errno, space, sizeof space));
    exit(70);
}

static fault_ledger *map(int descriptor, size_t size)
{
    void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (mapped == MAP_FAILED) {
        fault_die("mmap");
    }
    return mapped;
}

fault_ledger *ledger_make(int messages, uint64_t seed, int *descriptor)
{
    size_t size = sizeof(fault_ledger) + (size_t)messages * sizeof(ledger_entry);
    *descriptor = memfd_create("ledger", 0);
    if (*descriptor < 0 || ftruncate(*descriptor, (off_t)size) != 0) {
        fault_die("the ledger");
    }
    fault_ledger *ledger = map(*descriptor, size);
    ledger->messages = messages;
    ledger->seed = seed;
    return ledger;
}

fault_ledger *ledger_open(int descriptor)
{
    struct stat state;
    if (fstat(descriptor, &state) != 0) {
        fault_die("the ledger");
    }
    return map(descriptor, (size_t)state.st_size);
}

int ledger_slot(fault_ledger *ledger, int process)
{
    for (int i = 0; i < LEDGER_CALLS; i++) {
        int nobody = 0;
        if (atomic_compare_exchange_strong(&ledger->calls[i].process, &nobody, process)) {
            atomic_store(&ledger->calls[i].limit, 0);
            return i;
        }
    }
    fault_die("the ledger has no more slots");
}

void ledger_forget(fault_ledger *ledger, int process)
{
    for (int i = 0; i < LEDGER_CALLS; i++) {
        if (atomic_load(&ledger->calls[i].process) == process) {
            atomic_store(&ledger->calls[i].limit, 0);
            atomic_store(&ledger->calls[i].process, 0);
        }
    }
}

void ledger_begin(fault_ledger *ledger, int slot, const char *what, int64_t limit)
{
    ledger_call *call = &ledger->calls[slot];
    (void)snprintf(call->name, sizeof call->name, "%s", what);
    atomic_store(&call->limit, fault_now() + limit);
}

void ledger_end(fault_ledger *ledger, int slot)
{
    atomic_store(&ledger->calls[slot].limit, 0);
}

int ledger_overdue(fault_ledger *ledger)
{
    int overdue = 0;
    int64_t now = fault_now();
    for (int i = 0; i < LEDGER_CALLS; i++) {
        ledger_call *call = &ledger->calls[i];
        long long limit = atomic_load(&call->limit);
        if (limit > 0 && limit < now && atomic_compare_exchange_strong(&call->limit, &limit, -1)) {
            fprintf(stderr, "hang: %s of process %d has not returned\n", call->name,
                    atomic_load(&call->process));
            overdue++;
        }
    }
    return overdue;
}

void ledger_confirmed(fault_ledger *ledger, int number)
{
    if (atomic_exchange(&ledger->entries[number].confirmed, 1) == 0) {
        atomic_fetch_add(&ledger->confirmed, 1);
        atomic_fetch_add(&ledger->progress, 1);
    }
}

void ledger_handled(fault_ledger *ledger, int number, int attempt, bool accepted, bool set_aside)
{
    ledger_entry *entry = &ledger->entries[number];
    atomic_store(&entry->attempt, (unsigned char)(attempt > 255 ? 255 : attempt));
    atomic_store(&entry->last, fault_now());
    atomic_fetch_add(&entry->calls, 1);
    atomic_fetch_add(&ledger->progress, 1);
    if (set_aside) {
        atomic_store(&entry->set_aside, 1);
    }
    if (accepted && atomic_fetch_add(&entry->accepted, 1) == 0) {
        atomic_fetch_add(&ledger->handled, 1);
    }
}
