/* What the engine's tests share: a link on a scripted peer, and short ways to say things. */
#ifndef ACEMQ_TESTS_ENGINE_FIXTURE_H
#define ACEMQ_TESTS_ENGINE_FIXTURE_H

#include "engine/channel.h"
#include "engine/link.h"
#include "engine/publisher.h"
#include "engine/waiter.h"
#include "support/scripted_peer.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct fixture {
    scripted_peer *peer;
    ace_settings settings;
    ace_url url;
    ace_link *link;
} fixture;

/* Quick to come back, and silent. Change the settings between this and fixture_connect(). */
static inline void fixture_begin(fixture *f, peer_script *script, void *user)
{
    *f = (fixture){0};
    f->peer = peer_start(script, user);
    ace_settings_init(&f->settings);
    f->settings.clock = ace_clock_system();
    f->settings.random = ace_random_system();
    f->settings.reconnect_initial = 20;
    f->settings.reconnect_limit = 200;
    f->settings.heartbeat = 0;
    ck_assert_int_eq(ace_url_parse(peer_url(f->peer), &f->url, NULL), ACE_OK);
}

static inline void fixture_make_link(fixture *f)
{
    ck_assert_int_eq(ace_link_new(&f->settings, &f->url, "publishing", &f->link, NULL), ACE_OK);
}

static inline ace_code fixture_connect(fixture *f, ace_error **error)
{
    if (f->link == NULL) {
        fixture_make_link(f);
    }
    return ace_link_connect(f->link, ace_deadline_after(20000), NULL, error);
}

static inline void fixture_must_connect(fixture *f)
{
    ace_error *error = NULL;
    ace_code code = fixture_connect(f, &error);
    ck_assert_msg(code == ACE_OK, "%s", error == NULL ? "?" : ace_error_message(error));
}

static inline char *fixture_take_down(fixture *f)
{
    if (f->link != NULL) {
        ace_link_close(f->link, ace_deadline_after(2000));
        ace_link_free(f->link);
    }
    char *failure = peer_stop(f->peer);
    ace_url_free(&f->url);
    return failure;
}

static inline void fixture_end(fixture *f)
{
    char *failure = fixture_take_down(f);
    ck_assert_msg(failure == NULL, "the peer: %s", failure == NULL ? "" : failure);
}

/* Where the end may interrupt the script, which then has something to say. */
static inline void fixture_break_off(fixture *f)
{
    free(fixture_take_down(f));
}

/* Polls, up to twenty seconds, until the link is in this state. */
static inline void fixture_await_state(fixture *f, ace_link_state state, uint64_t epoch)
{
    ace_link_description description;
    for (int i = 0; i < 4000; i++) {
        ace_link_describe(f->link, &description);
        ace_error_free(description.error);
        if (description.state == state && description.epoch == epoch) {
            return;
        }
        struct timespec pause = {.tv_nsec = 5000000};
        nanosleep(&pause, NULL);
    }
    ck_abort_msg("the link is in state %d, epoch %llu; expected %d, %llu", (int)description.state,
                 (unsigned long long)description.epoch, (int)state, (unsigned long long)epoch);
}

#endif
