/* What is owed to a peer that does not read, and what may wait to be published. */
#include "publisher_fixture.h"

#include "support/scripted_peer_side.h"
#include "wire/frame.h"

/* A frame of channel.flow, and of its answer: eight bytes around it, class, method, bit. */
#define FLOW_OK_SIZE 13
#define MOST_FLOWS   4000

typedef struct flood {
    int flows; /* sent in one piece */
    atomic_bool lost;
    atomic_bool answered; /* all of them */
} flood;

static void nap(int milliseconds)
{
    struct timespec pause = {.tv_nsec = milliseconds * 1000000L};
    (void)nanosleep(&pause, NULL);
}

/* The step may end the script, so the bytes are nobody's to free. */
static void flow(peer_side *side, uint16_t channel, size_t times)
{
    static const uint8_t frame[FLOW_OK_SIZE] = {ACE_FRAME_METHOD, 0, 0, 0, 0, 0, 5, 0, 20, 0, 20, 1,
                                                ACE_FRAME_END};
    static uint8_t bytes[MOST_FLOWS * FLOW_OK_SIZE];
    peer_check(side, times <= MOST_FLOWS, "as many as there is room for");
    for (size_t i = 0; i < times; i++) {
        uint8_t *to = bytes + i * FLOW_OK_SIZE;
        memcpy(to, frame, FLOW_OK_SIZE);
        to[2] = (uint8_t)channel;
    }
    peer_send_raw(side, bytes, times * FLOW_OK_SIZE);
}

static void script_flood(peer_side *side, int index, void *user)
{
    flood *how = user;
    start(side);
    if (index > 0) {
        peer_expect_end(side);
        return;
    }
    flow(side, APPLICATION, (size_t)how->flows);
    for (int i = 0; i < how->flows; i++) {
        ace_frame frame;
        if (!peer_next_frame(side, &frame, -1)) {
            atomic_store(&how->lost, true);
            return;
        }
    }
    atomic_store(&how->answered, true);
    peer_expect_end(side);
}

static bool is_lost(publishing *p, flood *how)
{
    ace_link_description description;
    ace_link_describe(p->f.link, &description);
    ace_error_free(description.error);
    return description.epoch > 1 || atomic_load(&how->lost);
}

START_TEST(answers_wait_up_to_their_limit_and_one_more_ends_the_connection)
{
    for (int flows = 314; flows <= 316; flows++) {
        publishing p;
        flood how = {.flows = flows};
        begin(&p, script_flood, &how);
        p.f.settings.output_limit = 315 * FLOW_OK_SIZE;
        connect_publisher(&p);
        /* Without a limit all is answered, and the peer waits until its patience ends. */
        for (int i = 0; i < 3000 && !is_lost(&p, &how) && !atomic_load(&how.answered); i++) {
            nap(10);
        }
        ck_assert_int_eq(atomic_load(&how.answered), flows <= 315);
        ck_assert_int_eq(is_lost(&p, &how), flows > 315);
        if (flows > 315) {
            break_off(&p); /* it may be on its way back */
        } else {
            end(&p);
        }
    }
}
END_TEST

static void script_not_reading(peer_side *side, int index, void *user)
{
    (void)user;
    start(side);
    if (index > 0) {
        peer_expect_end(side);
        return;
    }
    peer_set_patience(side, 20000);
    for (int i = 0; i < 4000; i++) {
        flow(side, APPLICATION, MOST_FLOWS); /* ends with the connection */
    }
}

typedef struct reason {
    ace_link_listener listener;
    atomic_bool told;
    char text[300];
} reason;

static void note_reason(ace_link_listener *listener, const ace_link_status *status)
{
    reason *why = ACE_RECORD(listener, reason, listener);
    if (status->state == ACE_LINK_WAITING && !atomic_load(&why->told)) {
        (void)snprintf(why->text, sizeof why->text, "%s", ace_error_message(status->error));
        atomic_store(&why->told, true);
    }
}

static void listen_now(void *user)
{
    struct {
        ace_link *link;
        reason *why;
    } *both = user;
    ace_link_listen(both->link, &both->why->listener);
}

START_TEST(a_peer_that_asks_for_ever_and_never_reads_is_given_up_with_a_reason)
{
    publishing p;
    reason why = {.listener = {.changed = note_reason}};
    begin(&p, script_not_reading, NULL);
    p.f.settings.output_limit = 1000000;
    connect_publisher(&p);
    struct {
        ace_link *link;
        reason *why;
    } both = {p.f.link, &why};
    ace_loop_call(ace_link_loop(p.f.link), listen_now, &both);
    for (int i = 0; i < 3000 && !atomic_load(&why.told); i++) {
        nap(10);
    }
    ck_assert(atomic_load(&why.told));
    ck_assert_ptr_nonnull(strstr(why.text, "does not read"));
    ck_assert_ptr_nonnull(strstr(why.text, "the limit is 1000000"));
    break_off(&p);
}
END_TEST

/* --- what waits to be published --- */

static void script_no_confirm(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    start(side);
    peer_wait_stop(side);
}

START_TEST(publishes_wait_up_to_the_queued_limit_and_one_byte_more_is_refused)
{
    publishing p;
    ace_publish publish;
    ace_error *error = NULL;
    atomic_int ended;
    atomic_init(&ended, 0);
    begin(&p, script_no_confirm, NULL);
    p.f.settings.queued_limit = 1000;
    connect_publisher(&p);
    /* Whatever its size, one goes alone. */
    ck_assert_int_eq(
        ace_publisher_await_room(p.publisher, 2000, ace_deadline_after(10), NULL, NULL), ACE_OK);
    encode(&p, &publish, "key", "id", "body");
    publish.done = done_count;
    publish.user = &ended;
    size_t bytes = ace_publish_bytes(&publish);
    ck_assert_uint_gt(bytes, 4);
    ck_assert_int_eq(ace_publisher_submit(p.publisher, ACE_PUBLISH_APPLICATION, &publish, NULL),
                     ACE_OK);
    for (size_t more = 999 - bytes; more <= 1001 - bytes; more++) {
        bool fits = more <= 1000 - bytes;
        ck_assert_int_eq(ace_publisher_has_room(p.publisher, more), fits);
        ck_assert_int_eq(
            ace_publisher_await_room(p.publisher, more, ace_deadline_after(10), NULL, &error),
            fits ? ACE_OK : ACE_REFUSED);
    }
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "the limit is 1000"));
    ace_error_free(error);
    ace_publisher_close(p.publisher);
    ck_assert_int_eq(atomic_load(&ended), 1);
    ace_publish_clear(&publish);
    end(&p);
}
END_TEST

static void script_late_confirm(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    start(side);
    expect_publish(side, APPLICATION, "key");
    peer_delay(side, 50);
    peer_ack(side, APPLICATION, 1, false);
    peer_expect_end(side);
}

START_TEST(a_confirm_makes_room_in_the_queued_limit)
{
    publishing p;
    ace_publish publish;
    atomic_int ended;
    atomic_init(&ended, 0);
    begin(&p, script_late_confirm, NULL);
    p.f.settings.queued_limit = 10;
    connect_publisher(&p);
    encode(&p, &publish, "key", "id", "body");
    publish.done = done_count;
    publish.user = &ended;
    ck_assert_int_eq(ace_publisher_submit(p.publisher, ACE_PUBLISH_APPLICATION, &publish, NULL),
                     ACE_OK);
    ck_assert_int_eq(
        ace_publisher_await_room(p.publisher, 5000, ace_deadline_after(10000), NULL, NULL), ACE_OK);
    await_count(&ended, 1);
    ck_assert_int_eq(publish.code, ACE_OK);
    ace_publish_clear(&publish);
    end(&p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("output_limit");
    TCase *tcase = tcase_create("limits");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, answers_wait_up_to_their_limit_and_one_more_ends_the_connection);
    tcase_add_test(tcase, a_peer_that_asks_for_ever_and_never_reads_is_given_up_with_a_reason);
    tcase_add_test(tcase, publishes_wait_up_to_the_queued_limit_and_one_byte_more_is_refused);
    tcase_add_test(tcase, a_confirm_makes_room_in_the_queued_limit);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
