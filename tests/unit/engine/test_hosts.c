/* Several hosts in one URL, and credentials that change between two connects. */
#include "engine/connection.h"
#include "engine_fixture.h"

#include <arpa/inet.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define HOSTS 3

typedef struct cluster {
    scripted_peer *peers[HOSTS];
    ace_settings settings;
    ace_url url;
    ace_link *link;
} cluster;

static void come_in(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    peer_handshake(side, NULL);
    peer_wait_stop(side);
}

static void say_nothing(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    peer_expect_header(side);
    peer_wait_stop(side);
}

static void hang_up(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    peer_expect_header(side);
    peer_hang_up(side);
}

static void refuse_login(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    peer_expect_header(side);
    peer_send_start(side, "PLAIN", true);
    (void)peer_expect(side, 0, AMQP_CONNECTION_START_OK_METHOD);
    peer_close_connection(side, 403, "ACCESS_REFUSED - Login was refused");
    (void)peer_expect(side, 0, AMQP_CONNECTION_CLOSE_OK_METHOD);
    peer_expect_end(side);
}

/* A port on which nobody listens: bound, so that nobody else takes it. */
static int dead_port(int *holder)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    *holder = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(*holder, (struct sockaddr *)&address, length), 0);
    ck_assert_int_eq(getsockname(*holder, (struct sockaddr *)&address, &length), 0);
    return ntohs(address.sin_port);
}

/* NULL scripts are hosts that are down; their sockets live as long as the test. */
static void begin(cluster *c, peer_script *const scripts[HOSTS], ace_random *random)
{
    *c = (cluster){0};
    int ports[HOSTS];
    char url[128];
    for (int i = 0; i < HOSTS; i++) {
        int holder = -1;
        if (scripts[i] == NULL) {
            ports[i] = dead_port(&holder);
        } else {
            c->peers[i] = peer_start(scripts[i], NULL);
            ports[i] = peer_port(c->peers[i]);
        }
    }
    (void)snprintf(url, sizeof url,
                   "amqp://guest:hushhush@127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d/v", ports[0],
                   ports[1], ports[2]);
    ck_assert_int_eq(ace_url_parse(url, &c->url, NULL), ACE_OK);
    ace_settings_init(&c->settings);
    c->settings.clock = ace_clock_system();
    c->settings.random = random == NULL ? ace_random_system() : random;
    c->settings.reconnect_initial = 20;
    c->settings.reconnect_limit = 100;
    c->settings.heartbeat = 0;
    ck_assert_int_eq(ace_link_new(&c->settings, &c->url, "publishing", &c->link, NULL), ACE_OK);
}

static void end(cluster *c)
{
    ace_link_close(c->link, ace_deadline_after(10));
    ace_link_free(c->link);
    for (int i = 0; i < HOSTS; i++) {
        if (c->peers[i] != NULL) {
            free(peer_stop(c->peers[i]));
        }
    }
    ace_url_free(&c->url);
}

static int reached(const cluster *c)
{
    for (int i = 0; i < HOSTS; i++) {
        if (c->peers[i] != NULL && peer_connections(c->peers[i]) > 0) {
            return i;
        }
    }
    return -1;
}

START_TEST(the_first_host_is_a_random_one)
{
    peer_script *const scripts[HOSTS] = {come_in, come_in, come_in};
    int seen[HOSTS] = {0};
    for (uint64_t seed = 1; seed <= 24; seed++) {
        cluster c;
        ace_random *random = ace_random_seeded(seed);
        ace_random *same = ace_random_seeded(seed);
        int expected = (int)(ace_random_unit(same) * HOSTS);
        begin(&c, scripts, random);
        ck_assert_int_eq(ace_link_connect(c.link, ace_deadline_after(20000), NULL, NULL), ACE_OK);
        int first = reached(&c);
        ck_assert_int_eq(first, expected);
        seen[first]++;
        end(&c);
        ace_random_free(random);
        ace_random_free(same);
    }
    for (int i = 0; i < HOSTS; i++) {
        ck_assert_int_gt(seen[i], 0);
    }
}
END_TEST

static peer_script *const mixed[][HOSTS] = {
    {NULL, NULL, come_in},
    {come_in, NULL, hang_up},
    {hang_up, come_in, hang_up},
    {say_nothing, come_in, NULL},
};

START_TEST(hosts_that_fail_before_the_login_ends_are_passed_over)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        cluster c;
        ace_random *random = ace_random_seeded(seed);
        begin(&c, mixed[_i], random);
        c.settings.connect_timeout = 4500;
        ace_error *error = NULL;
        ace_code code = ace_link_connect(c.link, ace_deadline_after(20000), NULL, &error);
        ck_assert_msg(code == ACE_OK, "%s", error == NULL ? "?" : ace_error_message(error));
        ace_link_description description;
        ace_link_describe(c.link, &description);
        char place[64];
        for (int i = 0; i < HOSTS; i++) {
            if (mixed[_i][i] == come_in) {
                ace_endpoint_place(&c.url.endpoints[i], place, sizeof place);
            }
        }
        ck_assert_str_eq(description.place, place);
        end(&c);
        ace_random_free(random);
    }
}
END_TEST

START_TEST(the_error_names_every_host_with_its_reason)
{
    peer_script *const scripts[HOSTS] = {NULL, hang_up, NULL};
    for (uint64_t seed = 1; seed <= 6; seed++) {
        cluster c;
        ace_error *error = NULL;
        ace_random *random = ace_random_seeded(seed);
        begin(&c, scripts, random);
        ace_code code = ace_link_connect(c.link, ace_deadline_after(20000), NULL, &error);
        const char *text = ace_error_message(error);
        ck_assert_msg(code == ACE_UNREACHABLE || code == ACE_CONNECTION_LOST, "%s", text);
        ck_assert_msg(strstr(text, "none of 3 hosts") != NULL, "%s", text);
        ck_assert_msg(strstr(text, "refused") != NULL, "%s", text);
        ck_assert_msg(strstr(text, "no AMQP handshake") != NULL, "%s", text);
        ck_assert_msg(strstr(text, "hush") == NULL, "%s", text);
        for (int i = 0; i < HOSTS; i++) {
            char place[64];
            ace_endpoint_place(&c.url.endpoints[i], place, sizeof place);
            ck_assert_msg(strstr(text, place) != NULL, "%s: no %s", text, place);
        }
        ace_error_free(error);
        end(&c);
        ace_random_free(random);
    }
}
END_TEST

START_TEST(a_login_refused_is_not_hidden_by_hosts_that_are_down)
{
    peer_script *const scripts[HOSTS] = {NULL, refuse_login, NULL};
    for (uint64_t seed = 1; seed <= 6; seed++) {
        cluster c;
        ace_error *error = NULL;
        ace_random *random = ace_random_seeded(seed);
        begin(&c, scripts, random);
        ck_assert_int_eq(ace_link_connect(c.link, ace_deadline_after(20000), NULL, &error),
                         ACE_LOGIN_REFUSED);
        ck_assert_int_eq(ace_error_reply(error), 403);
        ck_assert_ptr_nonnull(strstr(ace_error_message(error), "refused the login of user guest"));
        ck_assert_ptr_null(strstr(ace_error_message(error), "hush"));
        ace_error_free(error);
        end(&c);
        ace_random_free(random);
    }
}
END_TEST

START_TEST(a_host_that_says_nothing_does_not_use_up_the_time_of_the_others)
{
    peer_script *const scripts[HOSTS] = {say_nothing, say_nothing, say_nothing};
    cluster c;
    ace_error *error = NULL;
    begin(&c, scripts, NULL);
    c.settings.connect_timeout = 1500;
    ck_assert_int_eq(ace_link_connect(c.link, ace_deadline_after(20000), NULL, &error),
                     ACE_TIMEOUT);
    for (int i = 0; i < HOSTS; i++) {
        ck_assert_int_eq(peer_connections(c.peers[i]), 1);
    }
    ace_error_free(error);
    end(&c);
}
END_TEST

static void leave_first(peer_side *side, int index, void *user)
{
    (void)user;
    peer_handshake(side, NULL);
    if (index == 0) {
        peer_hang_up(side);
    }
    peer_wait_stop(side);
}

START_TEST(after_a_loss_it_goes_to_a_host_that_is_there)
{
    peer_script *const scripts[HOSTS] = {leave_first, NULL, leave_first};
    cluster c;
    begin(&c, scripts, NULL);
    ck_assert_int_eq(ace_link_connect(c.link, ace_deadline_after(20000), NULL, NULL), ACE_OK);
    ace_link_description description = {0};
    for (int i = 0; i < 2000 && (description.state != ACE_LINK_OPEN || description.epoch < 3);
         i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        ace_link_describe(c.link, &description);
        ace_error_free(description.error);
        if (description.state == ACE_LINK_OPEN && description.epoch == 2 &&
            (peer_connections(c.peers[0]) == 2 || peer_connections(c.peers[2]) == 2)) {
            break; /* the same host twice: it stays there */
        }
    }
    ck_assert_int_eq(description.state, ACE_LINK_OPEN);
    ck_assert_uint_ge(description.epoch, 2);
    end(&c);
}
END_TEST

/* --- credentials that change ------------------------------------------------------------------ */

#define ROUNDS 3

typedef struct book { /* what came in with each login */
    atomic_int count;
    atomic_int hang_up; /* so many of them may go */
    char responses[ROUNDS][64];
} book;

static void note_login(peer_side *side, int index, void *user)
{
    book *logins = user;
    peer_expect_header(side);
    peer_send_start(side, "PLAIN", true);
    const amqp_connection_start_ok_t *ok = peer_expect(side, 0, AMQP_CONNECTION_START_OK_METHOD);
    if (index < ROUNDS) {
        const char *response = ok->response.bytes;
        size_t user_length = strlen(response + 1);
        (void)snprintf(logins->responses[index], sizeof logins->responses[0], "%.*s:%.*s",
                       (int)user_length, response + 1, (int)(ok->response.len - user_length - 2),
                       response + user_length + 2);
        atomic_fetch_add(&logins->count, 1);
    }
    peer_tune tune = {2047, 131072, 0};
    peer_send_tune(side, &tune);
    (void)peer_expect(side, 0, AMQP_CONNECTION_OPEN_METHOD);
    amqp_connection_open_ok_t done = {.known_hosts = {0, NULL}};
    peer_send(side, 0, AMQP_CONNECTION_OPEN_OK_METHOD, &done);
    if (index + 1 < ROUNDS) {
        while (atomic_load(&logins->hang_up) <= index) {
            peer_delay(side, 5);
        }
        peer_hang_up(side);
    }
    peer_wait_stop(side);
}

static void write_credentials(const char *path, const char *user, const char *password)
{
    char next[64];
    (void)snprintf(next, sizeof next, "%s.next", path);
    FILE *file = fopen(next, "we");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "%s\n%s\n", user, password);
    fclose(file);
    ck_assert_int_eq(rename(next, path), 0);
}

static ace_code give_next(ace_credentials *credentials, void *user, ace_error **error)
{
    (void)error;
    char password[16];
    (void)snprintf(password, sizeof password, "secret%d", atomic_fetch_add((atomic_int *)user, 1));
    credentials->user = strdup("someone");
    credentials->password = strdup(password);
    return ACE_OK;
}

static void await_logins(book *logins, int count)
{
    for (int i = 0; i < 4000 && atomic_load(&logins->count) < count; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    ck_assert_int_ge(atomic_load(&logins->count), count);
}

enum { FROM_FILE, FROM_CALLBACK, SOURCES };

START_TEST(a_password_that_changed_is_used_at_the_next_connect)
{
    book logins = {0};
    fixture f;
    atomic_int asked = 0;
    char path[] = "/tmp/acemq-credentials.XXXXXX";
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    close(file);
    fixture_begin(&f, note_login, &logins);
    f.settings.credentials_path = path;
    f.settings.ask = give_next;
    f.settings.ask_user = &asked;
    f.settings.credentials = _i == FROM_FILE ? ACE_CREDENTIALS_FILE : ACE_CREDENTIALS_ON_DEMAND;
    for (int round = 0; round < ROUNDS; round++) {
        char password[16];
        (void)snprintf(password, sizeof password, "secret%d", round);
        write_credentials(path, "someone", password);
        if (round == 0) {
            fixture_must_connect(&f);
        }
        atomic_store(&logins.hang_up, round);
        await_logins(&logins, round + 1);
    }
    for (int round = 0; round < ROUNDS; round++) {
        char expected[32];
        (void)snprintf(expected, sizeof expected, "someone:secret%d", round);
        ck_assert_str_eq(logins.responses[round], expected);
    }
    fixture_break_off(&f);
    unlink(path);
}
END_TEST

/* Nobody may change the environment while another thread reads it: one thread does both here. */
START_TEST(the_environment_is_read_each_time)
{
    ace_settings settings;
    ace_url url;
    ace_settings_init(&settings);
    settings.credentials = ACE_CREDENTIALS_ENVIRONMENT;
    settings.user_variable = "ACEMQ_TEST_ROTATING_USER";
    settings.password_variable = "ACEMQ_TEST_ROTATING_PASSWORD";
    ck_assert_int_eq(ace_url_parse("amqp://h", &url, NULL), ACE_OK);
    setenv("ACEMQ_TEST_ROTATING_USER", "someone", 1);
    for (int round = 0; round < ROUNDS; round++) {
        ace_credentials credentials;
        char password[16];
        (void)snprintf(password, sizeof password, "secret%d", round);
        setenv("ACEMQ_TEST_ROTATING_PASSWORD", password, 1);
        ck_assert_int_eq(ace_settings_credentials(&settings, &url, &credentials, NULL), ACE_OK);
        ck_assert_str_eq(credentials.user, "someone");
        ck_assert_str_eq(credentials.password, password);
        ace_credentials_free(&credentials);
    }
    ace_url_free(&url);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hosts");
    TCase *hosts = tcase_create("hosts");
    tcase_set_timeout(hosts, 120);
    tcase_add_test(hosts, the_first_host_is_a_random_one);
    tcase_add_loop_test(hosts, hosts_that_fail_before_the_login_ends_are_passed_over, 0,
                        (int)(sizeof mixed / sizeof mixed[0]));
    tcase_add_test(hosts, the_error_names_every_host_with_its_reason);
    tcase_add_test(hosts, a_login_refused_is_not_hidden_by_hosts_that_are_down);
    tcase_add_test(hosts, a_host_that_says_nothing_does_not_use_up_the_time_of_the_others);
    tcase_add_test(hosts, after_a_loss_it_goes_to_a_host_that_is_there);
    suite_add_tcase(suite, hosts);
    TCase *credentials = tcase_create("credentials");
    tcase_set_timeout(credentials, 120);
    tcase_add_loop_test(credentials, a_password_that_changed_is_used_at_the_next_connect, 0,
                        SOURCES);
    tcase_add_test(credentials, the_environment_is_read_each_time);
    suite_add_tcase(suite, credentials);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
