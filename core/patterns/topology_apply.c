#include "patterns/topology_apply.h"

#include "engine/session.h"
#include "patterns/declare.h"
#include "patterns/precondition.h"

#include <stdlib.h>
#include <string.h>

typedef struct topology_survey {
    ace_session *session;
    int64_t deadline;
    ace_cancel *cancel;
    bool declares; /* apply; else compare */
    ace_error *first_difference;
} topology_survey;

ace_code ace_findings_init(ace_findings *findings, size_t count, ace_error **error)
{
    findings->count = 0;
    findings->items = calloc(count == 0 ? 1 : count, sizeof *findings->items);
    if (findings->items == NULL) {
        return ace_fail_memory(error);
    }
    findings->count = count;
    return ACE_OK;
}

void ace_findings_release(ace_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        free(findings->items[i].argument);
        free(findings->items[i].ours);
        free(findings->items[i].theirs);
    }
    free(findings->items);
    *findings = (ace_findings)ACE_FINDINGS_INIT;
}

static ace_code with_title(const ace_declaration *declaration, ace_code code, ace_error **error)
{
    ace_buffer title = ACE_BUFFER_INIT;
    if (ace_declaration_title(declaration, &title) && ace_buffer_append(&title, "", 1)) {
        ace_error_prefix(error, "%s", (const char *)title.data);
    }
    ace_buffer_free(&title);
    return code;
}

/* A queue is classic by saying nothing, which to a reader says little. */
static char *text_of(const ace_precondition *told, ace_bytes value)
{
    bool is_unsaid_type =
        ace_bytes_equal_text(told->argument, "x-queue-type") && ace_bytes_equal_text(value, "none");
    return ace_bytes_to_text(is_unsaid_type ? ace_bytes_of("classic") : value);
}

static ace_code note_difference(ace_finding *finding, const ace_error *difference,
                                ace_error **error)
{
    finding->state = ACE_FINDING_DIFFERS;
    ace_precondition told;
    if (!ace_precondition_read(ace_error_message(difference), &told)) {
        return ACE_OK;
    }
    finding->argument = ace_bytes_to_text(told.argument);
    finding->ours = text_of(&told, told.ours);
    finding->theirs = text_of(&told, told.theirs);
    if (finding->argument == NULL || finding->ours == NULL || finding->theirs == NULL) {
        return ace_fail_memory(error);
    }
    return ACE_OK;
}

static void keep_first(topology_survey *survey, const ace_declaration *declaration,
                       const ace_finding *finding, ace_error *difference)
{
    if (survey->first_difference != NULL) {
        ace_error_free(difference);
        return;
    }
    if (finding->argument == NULL) {
        survey->first_difference = difference;
    } else {
        ace_fail(&survey->first_difference, ACE_DIFFERS, "%s is %s here, %s at the broker",
                 finding->argument, finding->ours, finding->theirs);
        ace_error_field(&survey->first_difference, finding->argument, 0);
        ace_error_set_reply(&survey->first_difference, ace_error_reply(difference));
        ace_error_free(difference);
    }
    with_title(declaration, ACE_DIFFERS, &survey->first_difference);
}

/* Declares what is there already, or is to be made: an equal declaration changes nothing. */
static ace_code declare_one(topology_survey *survey, const ace_declaration *declaration,
                            ace_finding *finding, ace_error **error)
{
    ace_error *failure = NULL;
    ace_code code =
        ace_declare(survey->session, declaration, survey->deadline, survey->cancel, &failure);
    if (code != ACE_DIFFERS || declaration->kind == ACE_DECLARE_BINDING) {
        return code == ACE_OK ? ACE_OK : ace_error_move(error, failure);
    }
    code = note_difference(finding, failure, error);
    keep_first(survey, declaration, finding, failure);
    return code;
}

static ace_code visit_one(topology_survey *survey, const ace_declaration *declaration,
                          ace_finding *finding, ace_error **error)
{
    if (declaration->kind == ACE_DECLARE_BINDING) {
        return survey->declares ? declare_one(survey, declaration, finding, error) : ACE_OK;
    }
    ace_error *missing = NULL;
    ace_code code = ace_declare_passively(survey->session, declaration, survey->deadline,
                                          survey->cancel, &missing);
    if (code == ACE_NOT_FOUND) {
        ace_error_free(missing);
        code = survey->declares ? declare_one(survey, declaration, finding, error) : ACE_OK;
        if (code == ACE_OK && finding->state == ACE_FINDING_UNKNOWN) {
            finding->state = ACE_FINDING_CREATE;
        }
        return code;
    }
    if (code != ACE_OK) {
        return ace_error_move(error, missing);
    }
    code = declare_one(survey, declaration, finding, error);
    if (code == ACE_OK && finding->state == ACE_FINDING_UNKNOWN) {
        finding->state = ACE_FINDING_PRESENT;
    }
    return code;
}

static ace_code visit_all(ace_connection *connection, const ace_plan *plan, topology_survey *survey,
                          ace_findings *findings, ace_error **error)
{
    ace_code code = ace_session_new(connection->consuming, &survey->session, error);
    for (size_t i = 0; code == ACE_OK && i < plan->count; i++) {
        code = visit_one(survey, &plan->items[i], &findings->items[i], error);
        if (code != ACE_OK) {
            with_title(&plan->items[i], code, error);
        }
    }
    ace_session_free(survey->session);
    return code;
}

ace_code ace_topology_compare(ace_connection *connection, const ace_plan *plan, int64_t deadline,
                              ace_cancel *cancel, ace_findings *findings, ace_error **error)
{
    topology_survey survey = {.deadline = deadline, .cancel = cancel};
    ace_code code = visit_all(connection, plan, &survey, findings, error);
    ace_error_free(survey.first_difference);
    return code;
}

ace_code ace_topology_apply(ace_connection *connection, const ace_plan *plan, int64_t deadline,
                            ace_cancel *cancel, ace_findings *findings, ace_error **error)
{
    topology_survey survey = {.deadline = deadline, .cancel = cancel, .declares = true};
    ace_code code = visit_all(connection, plan, &survey, findings, error);
    if (code == ACE_OK && survey.first_difference != NULL) {
        return ace_error_move(error, survey.first_difference);
    }
    ace_error_free(survey.first_difference);
    return code;
}
