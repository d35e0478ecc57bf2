#include "vectors.h"

#include "contract/plan.h"
#include "contract/topology_file.h"

static void topology_of(const json_t *json, ace_topology *topology)
{
    char *text = json_dumps(json, 0);
    SUCCEEDS(ace_topology_read(text, strlen(text), topology, &error));
    free(text);
}

static ace_plan plan_of(const json_t *json)
{
    ace_topology topology = ACE_TOPOLOGY_INIT;
    ace_plan plan = ACE_PLAN_INIT;
    topology_of(json, &topology);
    SUCCEEDS(ace_plan_topology(&topology, &plan, &error));
    ace_topology_release(&topology); /* the plan must not need it */
    return plan;
}

static const ace_declaration *queue_in(const ace_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->items[i].kind == ACE_DECLARE_QUEUE && strcmp(plan->items[i].name, name) == 0) {
            return &plan->items[i];
        }
    }
    ck_abort_msg("no queue %s in the plan", name);
    return NULL;
}

static bool is_the_row(const ace_declaration *declaration, const json_t *row)
{
    if (json_object_get(row, "exchange") != NULL) {
        return declaration->kind == ACE_DECLARE_EXCHANGE &&
               strcmp(declaration->name, text_of(row, "exchange")) == 0;
    }
    if (json_object_get(row, "queue") != NULL) {
        return declaration->kind == ACE_DECLARE_QUEUE &&
               strcmp(declaration->name, text_of(row, "queue")) == 0;
    }
    return declaration->kind == ACE_DECLARE_BINDING &&
           strcmp(declaration->name, text_of(row, "bind")) == 0 &&
           strcmp(declaration->exchange, text_of(row, "to")) == 0 &&
           strcmp(declaration->key, text_of(row, "on")) == 0;
}

static void same_as_row(const ace_declaration *declaration, const json_t *row)
{
    ace_table wanted = ACE_TABLE_INIT;
    if (json_object_get(row, "arguments") != NULL) {
        table_of(member(row, "arguments"), &wanted);
    }
    same_tables(&declaration->arguments, &wanted.table);
    ace_table_release(&wanted);
    if (declaration->kind != ACE_DECLARE_BINDING) {
        ck_assert_str_eq(declaration->type, text_of(row, "type"));
        ck_assert_int_eq(declaration->durable, json_is_true(member(row, "durable")));
        ck_assert(!declaration->exclusive && !declaration->auto_delete);
    }
}

/* The plan holds exactly the rows of this declarer, and those of both. */
static void declares_the_rows_of(const ace_plan *plan, const json_t *rows, const char *declarer)
{
    size_t wanted = 0;
    json_t *row;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        const char *by = text_of(row, "by");
        if (strcmp(by, declarer) != 0 && strcmp(by, "both") != 0) {
            continue;
        }
        size_t found = 0;
        for (size_t n = 0; n < plan->count; n++) {
            if (is_the_row(&plan->items[n], row)) {
                same_as_row(&plan->items[n], row);
                found++;
            }
        }
        ck_assert_msg(found == 1, "row %zu stands %zu times", i, found);
        wanted++;
    }
    ck_assert_uint_eq(plan->count, wanted);
}

static void is_in_order(const ace_plan *plan)
{
    for (size_t i = 1; i < plan->count; i++) {
        ck_assert_int_ge(plan->items[i].kind, plan->items[i - 1].kind);
    }
}

START_TEST(a_topology_declares_what_is_its_own)
{
    json_t *vectors = vectors_read("topology.json");
    ace_plan plan = plan_of(member(vectors, "file"));
    declares_the_rows_of(&plan, list(vectors, "declarations"), "topology");
    is_in_order(&plan);
    ace_plan_release(&plan);
    json_decref(vectors);
}
END_TEST

START_TEST(a_consumer_declares_its_set_and_never_the_source)
{
    json_t *vectors = vectors_read("topology.json");
    ace_policy policy = policy_of(text_of(vectors, "retry"));
    ace_plan plan = ACE_PLAN_INIT;
    SUCCEEDS(ace_plan_consumer(text_of(vectors, "source"), &policy, &plan, &error));
    declares_the_rows_of(&plan, list(vectors, "declarations"), "consumer");
    is_in_order(&plan);
    for (size_t i = 0; i < plan.count; i++) {
        bool rung = strstr(plan.items[i].name, ".retry.") != NULL;
        ck_assert_int_eq(plan.items[i].rung, rung);
    }
    ace_plan_release(&plan);
    json_decref(vectors);
}
END_TEST

START_TEST(without_a_policy_there_is_no_retry_exchange)
{
    static const char *const policies[] = {NULL, "none", "fixed(5, 1s)",
                                           "fixed(5, 1h).threshold(0)"};
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        ace_policy policy = policy_of(policies[i] == NULL ? "none" : policies[i]);
        ace_plan plan = ACE_PLAN_INIT;
        SUCCEEDS(ace_plan_consumer("q", policies[i] == NULL ? NULL : &policy, &plan, &error));
        ck_assert_uint_eq(plan.count, 5); /* one exchange, two queues, two bindings */
        ck_assert_str_eq(plan.items[0].name, "acemq.dlx");
        ck_assert_str_eq(plan.items[1].name, "q.dlq");
        ck_assert_str_eq(plan.items[2].name, "q.parked");
        ck_assert_int_eq(plan.items[1].arguments.num_entries, 0);
        ace_plan_release(&plan);
    }
}
END_TEST

START_TEST(a_topology_with_a_policy_declares_all_its_consumer_needs)
{
    json_t *file =
        json_pack("{s:[{s:s, s:s}]}", "queues", "name", "q", "retry", "exponential(5, 10s, 5m)");
    ace_plan plan = plan_of(file);
    ace_policy policy = policy_of("exponential(5, 10s, 5m)");
    ace_plan consumer = ACE_PLAN_INIT;
    SUCCEEDS(ace_plan_consumer("q", &policy, &consumer, &error));
    ck_assert_uint_eq(plan.count, consumer.count + 1); /* and the source */
    ck_assert_str_eq(queue_in(&plan, "q.retry.40s")->type, "classic");
    ck_assert_str_eq(queue_in(&plan, "q.retry.80s")->type, "classic");
    ck_assert_str_eq(queue_in(&plan, "q")->type, "quorum");
    ace_plan_release(&consumer);
    ace_plan_release(&plan);
    json_decref(file);
}
END_TEST

START_TEST(queue_types_and_their_defaults)
{
    json_t *vectors = vectors_read("topology.json");
    json_t *row;
    size_t i;
    json_array_foreach(list(vectors, "types"), i, row)
    {
        ace_plan plan = plan_of(member(row, "file"));
        const ace_declaration *queue = queue_in(&plan, text_of(row, "queue"));
        ck_assert_str_eq(queue->type, text_of(row, "type"));
        const amqp_field_value_t *said = ace_table_find(&queue->arguments, "x-queue-type");
        bool classic = strcmp(queue->type, "classic") == 0;
        ck_assert_int_eq(said == NULL, classic); /* classic is said by saying nothing */
        if (!classic) {
            is_text(ace_bytes_from_amqp(said->value.bytes), queue->type);
        }
        ace_plan_release(&plan);
    }
    json_decref(vectors);
}
END_TEST

START_TEST(exclusive_and_auto_delete_queues_stay_classic)
{
    for (int i = 0; i < 3; i++) {
        ace_queue_spec spec = {
            .name = "q", .transient = i == 0, .exclusive = i == 1, .auto_delete = i == 2};
        ace_topology topology = ACE_TOPOLOGY_INIT;
        ace_plan plan = ACE_PLAN_INIT;
        SUCCEEDS(ace_topology_add_queue(&topology, &spec, &error));
        SUCCEEDS(ace_plan_topology(&topology, &plan, &error));
        ck_assert_str_eq(plan.items[0].type, "classic");
        ck_assert_int_eq(plan.items[0].arguments.num_entries, 0);
        spec.type = ACE_QUEUE_QUORUM;
        FAILS_WITH(ace_topology_add_queue(&topology, &spec, &error), ACE_INVALID_ARGUMENT,
                   "can only be classic");
        ace_plan_release(&plan);
        ace_topology_release(&topology);
    }
}
END_TEST

START_TEST(partition_queues_keep_their_order)
{
    ace_topology topology = ACE_TOPOLOGY_INIT;
    ace_plan plan = ACE_PLAN_INIT;
    ace_partitioned_spec spec = {.name = "orders", .partitions = 8};
    SUCCEEDS(ace_topology_add_partitioned(&topology, &spec, &error));
    SUCCEEDS(ace_plan_topology(&topology, &plan, &error));
    ck_assert_uint_eq(plan.count, 8);
    ck_assert_str_eq(plan.items[7].name, "orders.7");
    ck_assert_ptr_nonnull(ace_table_find(&plan.items[7].arguments, "x-single-active-consumer"));
    ace_plan_release(&plan);
    spec.name = "shared";
    spec.shared_consumers = true;
    SUCCEEDS(ace_topology_add_partitioned(&topology, &spec, &error));
    SUCCEEDS(ace_plan_topology(&topology, &plan, &error));
    ck_assert_ptr_null(
        ace_table_find(&queue_in(&plan, "shared.0")->arguments, "x-single-active-consumer"));
    ace_plan_release(&plan);
    ace_topology_release(&topology);
}
END_TEST

START_TEST(what_does_not_fit_is_refused_with_its_place)
{
    json_t *vectors = vectors_read("topology.json");
    json_t *row;
    size_t i;
    json_array_foreach(list(vectors, "refused"), i, row)
    {
        ace_topology topology = ACE_TOPOLOGY_INIT;
        ace_error *error = NULL;
        const char *text = text_at(row, 0);
        ace_code code = ace_topology_read(text, strlen(text), &topology, &error);
        ck_assert_msg(code != ACE_OK, "%s was taken", text);
        ck_assert_msg(strstr(ace_error_message(error), text_at(row, 1)) != NULL,
                      "%s: \"%s\" lacks \"%s\"", text, ace_error_message(error), text_at(row, 1));
        ck_assert_uint_eq(topology.queue_count + topology.exchange_count, 0);
        ck_assert_ptr_null(topology.queues);
        ace_error_free(error);
    }
    json_decref(vectors);
}
END_TEST

START_TEST(two_queues_share_what_is_common)
{
    json_t *file = json_pack("{s:[{s:s, s:b}, {s:s, s:b}]}", "queues", "name", "a", "deadLetter", 1,
                             "name", "b", "deadLetter", 1);
    ace_plan plan = plan_of(file);
    ck_assert_uint_eq(plan.count, 1 + 6 + 4);
    ace_plan_release(&plan);
    json_decref(file);
}
END_TEST

START_TEST(a_plan_prints)
{
    static const char *const wanted[] = {
        "exchange acemq.dlx (direct, durable)",
        "exchange acemq.retry (direct, durable)",
        "queue q.dlq (classic, durable)",
        "queue q.parked (classic, durable)",
        "queue q.retry.30s.durable (quorum, durable; x-message-ttl=30000, "
        "x-dead-letter-exchange=acemq.retry, x-dead-letter-routing-key=q, "
        "x-dead-letter-strategy=at-least-once, x-overflow=reject-publish)",
        "binding of q.dlq to acemq.dlx on q.dlq",
        "binding of q.parked to acemq.dlx on q.parked",
        "binding of q to acemq.retry on q",
    };
    ace_policy policy = policy_of("fixed(2, 30s).durableRungs()");
    ace_plan plan = ACE_PLAN_INIT;
    SUCCEEDS(ace_plan_consumer("q", &policy, &plan, &error));
    ck_assert_uint_eq(plan.count, sizeof wanted / sizeof wanted[0]);
    for (size_t i = 0; i < plan.count; i++) {
        ace_buffer line = ACE_BUFFER_INIT;
        ck_assert(ace_declaration_format(&plan.items[i], &line));
        is_text((ace_bytes){line.data, line.length}, wanted[i]);
        ace_buffer_free(&line);
    }
    ace_plan_release(&plan);
}
END_TEST

START_TEST(a_consumer_of_a_wait_the_broker_refuses_is_not_planned)
{
    ace_policy policy = policy_of("exponential(60, 1s, 0)");
    ace_plan plan = ACE_PLAN_INIT;
    FAILS_WITH(ace_plan_consumer("q", &policy, &plan, &error), ACE_LIMIT,
               "the limit is 315360000000");
    ck_assert_uint_eq(plan.count, 0);
    FAILS_WITH(ace_plan_consumer("", NULL, &plan, &error), ACE_INVALID_ARGUMENT, "empty");
}
END_TEST

START_TEST(caller_arguments_travel_with_their_types)
{
    const char *text = "{\"queues\": [{\"name\": \"q\", \"type\": \"classic\", \"arguments\": "
                       "{\"x-max-length\": 5, \"x-max-priority\": {\"type\": \"int8\", \"value\": "
                       "3}, \"x-expires\": {\"type\": \"int32\", \"value\": 60000}}}]}";
    ace_topology topology = ACE_TOPOLOGY_INIT;
    ace_plan plan = ACE_PLAN_INIT;
    SUCCEEDS(ace_topology_read(text, strlen(text), &topology, &error));
    SUCCEEDS(ace_plan_topology(&topology, &plan, &error));
    const amqp_table_t *arguments = &plan.items[0].arguments;
    ck_assert_int_eq(arguments->num_entries, 3);
    ck_assert_int_eq(ace_table_find(arguments, "x-max-length")->kind, AMQP_FIELD_KIND_I64);
    ck_assert_int_eq(ace_table_find(arguments, "x-max-priority")->kind, AMQP_FIELD_KIND_I8);
    ck_assert_int_eq(ace_table_find(arguments, "x-expires")->kind, AMQP_FIELD_KIND_I32);
    ace_plan_release(&plan);
    ace_topology_release(&topology);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("topology");
    TCase *tests = case_of(suite, "topology");
    tcase_add_test(tests, a_topology_declares_what_is_its_own);
    tcase_add_test(tests, a_consumer_declares_its_set_and_never_the_source);
    tcase_add_test(tests, without_a_policy_there_is_no_retry_exchange);
    tcase_add_test(tests, a_topology_with_a_policy_declares_all_its_consumer_needs);
    tcase_add_test(tests, queue_types_and_their_defaults);
    tcase_add_test(tests, exclusive_and_auto_delete_queues_stay_classic);
    tcase_add_test(tests, partition_queues_keep_their_order);
    tcase_add_test(tests, what_does_not_fit_is_refused_with_its_place);
    tcase_add_test(tests, two_queues_share_what_is_common);
    tcase_add_test(tests, a_plan_prints);
    tcase_add_test(tests, a_consumer_of_a_wait_the_broker_refuses_is_not_planned);
    tcase_add_test(tests, caller_arguments_travel_with_their_types);
    return run_suite(suite);
}
