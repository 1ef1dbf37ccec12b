//! An honest server fails nothing; each flaw is found by exactly the checks that are there for it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod broken;

use std::time::Duration;

use broken::flaw::Flaw::{self, *};
use harn_client::Client;
use harn_conformance::{Category, Options, Report, Status, run};

async fn checked(flaw: Option<Flaw>) -> Report {
    let url = broken::start(flaw).await;
    let client = Client::to_url(&url, Some(broken::KEY)).unwrap();
    let mut options = Options::new(url).with_key(broken::KEY);
    options.timeout = Duration::from_secs(60);
    run(client, options).await
}

fn with_status(report: &Report, status: Status) -> Vec<String> {
    let all = report.categories.iter();
    let tests = all.flat_map(|category| category.tests.iter().map(|test| (&category.name, test)));
    tests
        .filter(|(_, test)| test.status == status)
        .map(|(name, test)| format!("{name}/{}", test.name))
        .collect()
}

const FLAWS: &[(Flaw, &[&str])] = &[
    (DiscoveryOfAnotherFamily, &["core/discovery"]),
    (WorkspaceKeepsItsName, &["core/workspace"]),
    (ForkWithoutParent, &["core/session_fork"]),
    (BranchOfAnotherKind, &["core/branch"]),
    (TasksNotListed, &["core/task", "idempotency/task_retry_gives_the_same_task"]),
    (CardWithoutA2a, &["core/agent_card"]),
    (UnknownSessionState, &["core/session"]),
    (InitialMessagesIgnored, &["core/session_initial_messages"]),
    (CloseDoesNothing, &["core/session_close"]),
    (TruncateDoesNothing, &["core/session_truncate"]),
    (ArtifactOfAnotherKind, &["core/artifact"]),
    (TaskInAnotherWorkspace, &["core/workspace_is_named"]),
    (ListsNotFound, &["core/extended_lists"]),
    (DiscoveryNeedsAKey, &["core/discovery_is_public"]),
    (SubmitAnswers201, &["core/task_submit_status"]),
    (WrongObject, &["core/resource_object"]),
    (NoMetadata, &["core/resource_envelope"]),
    (TimestampsNotUtc, &["core/timestamps_are_utc"]),
    (
        IdsPerSession,
        &[
            "core/message",
            "core/part_visibility",
            "core/ids_are_not_reused",
            "idempotency/key_is_scoped_to_its_target",
        ],
    ),
    (MessagesReversed, &["core/message_order"]),
    (VisibilityLost, &["core/part_visibility"]),
    (EventDiffersById, &["core/event"]),
    (PageNeverEnds, &["core/pages_yield_every_item_once"]),
    (PageRepeatsAnItem, &["core/pages_yield_every_item_once"]),
    (LimitIgnored, &["core/limit_bounds_a_page"]),
    (FilterIgnored, &["core/filters_narrow_lists"]),
    (RangeInclusive, &["core/event_range_continues"]),
    (
        FlatPage,
        &[
            "core/list_envelope",
            "core/extended_lists",
            "replay/event_range_after_a_cursor",
            "outcomes/outcomes_are_listed",
        ],
    ),
    (NoVersionCheck, &["core/version_absent", "core/version_unsupported"]),
    (AnyVersionAccepted, &["core/version_unsupported"]),
    (VersionsNotListed, &["core/version_lists_supported"]),
    (CodeDisagreesWithStatus, &["core/error_codes_agree_with_status"]),
    (PlainTextErrors, &["core/error_envelope"]),
    (BadRoleAccepted, &["core/errors_have_the_right_status"]),
    (ErrorsEchoTheKey, &["core/errors_do_not_echo_the_key"]),
    (FrameWithoutId, &["streaming/frame_fields"]),
    (FrameNamedOtherwise, &["streaming/frame_matches_its_event"]),
    (CommentFirst, &["streaming/first_frame_is_an_event"]),
    (StreamedEventWithoutSequence, &["streaming/event_fields"]),
    (
        LastEventIdIgnored,
        &[
            "streaming/resume_sends_what_is_missing",
            "streaming/resumed_stream_goes_on",
            "streaming/unknown_cursor_is_refused",
        ],
    ),
    (ResumeRepeatsOne, &["streaming/resume_sends_what_is_missing", "streaming/resumed_stream_goes_on"]),
    (UnknownCursorIgnored, &["streaming/unknown_cursor_is_refused"]),
    (
        HistoryNotStreamed,
        &[
            "streaming/session_stream_delivers",
            "streaming/task_stream_replays",
            "streaming/frame_fields",
            "streaming/frame_matches_its_event",
            "streaming/event_fields",
            "streaming/first_frame_is_an_event",
            "streaming/resumed_stream_goes_on",
        ],
    ),
    (StreamEndsAfterHistory, &["streaming/session_stream_delivers", "streaming/resumed_stream_goes_on"]),
    (StreamOfNothing, &["streaming/unknown_task_has_no_stream"]),
    (SubmitSaysCanceled, &["lifecycle/observed_statuses_follow_the_table"]),
    (EventsWithoutPayload, &["streaming/event_fields", "lifecycle/task_events_have_the_fields"]),
    (EventIdsGoDown, &["lifecycle/event_ids_are_monotonic"]),
    (CompletedBeforeStarted, &["lifecycle/task_times_are_in_order"]),
    (SkipsWorking, &["lifecycle/events_follow_the_table"]),
    (NoCompletedEvent, &["lifecycle/events_end_at_the_status"]),
    (SequenceRepeats, &["lifecycle/sequence_increases"]),
    (
        EventsOutOfOrder,
        &[
            "lifecycle/events_follow_the_table",
            "lifecycle/causes_come_first",
            "lifecycle/cancel_holds",
            "lifecycle/input_moves_a_waiting_task",
        ],
    ),
    (TimesGoBack, &["lifecycle/causes_come_first"]),
    (TwoOutcomes, &["lifecycle/completed_task_has_one_outcome"]),
    (TerminalTaskRevived, &["lifecycle/terminal_task_stays"]),
    (CompletedAtOnCanceled, &["lifecycle/canceled_has_no_completed_at"]),
    (CancelUndone, &["lifecycle/cancel_holds", "lifecycle/cancel_twice_is_the_same"]),
    (
        CancelAnswers500,
        &["lifecycle/terminal_task_stays", "lifecycle/cancel_answers", "lifecycle/cancel_twice_is_the_same"],
    ),
    (InputIgnored, &["lifecycle/input_moves_a_waiting_task"]),
    (SessionKeyIgnored, &["idempotency/session_retry_gives_the_same_session"]),
    (ArtifactKeyIgnored, &["idempotency/artifact_retry_gives_the_same_artifact"]),
    (
        TaskKeyIgnored,
        &["idempotency/task_retry_gives_the_same_task", "idempotency/task_key_with_another_body"],
    ),
    (
        MessageKeyIgnored,
        &[
            "idempotency/message_retry_gives_the_same_message",
            "idempotency/message_key_with_another_body",
            "idempotency/equivalent_body_is_the_same_request",
            "idempotency/concurrent_duplicates_create_one",
        ],
    ),
    (
        OtherBodyAccepted,
        &["idempotency/task_key_with_another_body", "idempotency/message_key_with_another_body"],
    ),
    (BytesCompared, &["idempotency/equivalent_body_is_the_same_request"]),
    (KeyWithoutTarget, &["idempotency/key_is_scoped_to_its_target"]),
    (RetryAnswersShort, &["idempotency/retry_answers_alike"]),
    (DuplicatesRace, &["idempotency/concurrent_duplicates_create_one"]),
    (
        NoKeyNeeded,
        &[
            "auth-and-scopes/key_is_required",
            "auth-and-scopes/refused_writes_do_nothing",
            "auth-and-scopes/streams_need_a_key",
            "auth-and-scopes/refusal_does_not_tell_what_exists",
        ],
    ),
    (BareKeyAccepted, &["auth-and-scopes/malformed_key_is_refused"]),
    (RefusalWithoutEnvelope, &["auth-and-scopes/refusal_has_the_envelope"]),
    (RefusalEchoesTheKey, &["auth-and-scopes/refusal_does_not_echo_the_key"]),
    (KeyPrefixCompared, &["auth-and-scopes/wrong_key_is_refused"]),
    (AnyScheme, &["auth-and-scopes/wrong_scheme_is_refused"]),
    (WritesBeforeTheKeyIsChecked, &["auth-and-scopes/refused_writes_do_nothing"]),
    (StreamsOpenToAll, &["auth-and-scopes/streams_need_a_key"]),
    (TellsWhatExists, &["auth-and-scopes/refusal_does_not_tell_what_exists"]),
    (KeyInEvents, &["auth-and-scopes/key_is_in_no_event"]),
    (EventsChange, &["core/event", "replay/event_range_is_stable"]),
    (ReplayWithoutSource, &["replay/replay_creates_a_task"]),
    (ReplayedNotMarked, &["replay/replayed_events_are_marked"]),
    (
        NoReceipt,
        &[
            "receipts/task_has_a_receipt",
            "receipts/receipt_can_be_read",
            "receipts/receipt_has_a_hash",
            "receipts/receipt_can_be_verified",
        ],
    ),
    (ReceiptWithoutFormat, &["receipts/receipt_can_be_read"]),
    (HashWithoutPrefix, &["receipts/receipt_has_a_hash"]),
    (VerifiedWithoutVerdict, &["receipts/receipt_can_be_verified"]),
    (VaultShowsASecret, &["vaults/vault_shows_no_secret"]),
    (UnknownConnectorStatus, &["webhooks/webhook_connector_has_the_fields"]),
    (OutcomeWithoutSummary, &["outcomes/outcome_has_the_fields"]),
    (OutcomesNotFoundById, &["outcomes/outcome_can_be_read"]),
];

#[tokio::test]
async fn an_honest_server_passes_everything() {
    let report = checked(None).await;
    assert_eq!(report.summary.passed, report.summary.total, "{}", report.to_text());
    assert_eq!((report.summary.total, report.exit_code()), (harn_conformance::checks().count(), 0));
}

#[tokio::test]
async fn what_a_server_does_not_offer_is_skipped() {
    let report = checked(Some(OnlyCore)).await;
    assert_eq!(with_status(&report, Status::Failed), [""; 0], "{}", report.to_text());
    let skipped = [
        "core/workspace",
        "core/session_fork",
        "core/branch",
        "replay/event_range_is_stable",
        "replay/event_range_after_a_cursor",
        "replay/replay_creates_a_task",
        "replay/replayed_events_are_marked",
        "receipts/task_has_a_receipt",
        "receipts/receipt_can_be_read",
        "receipts/receipt_has_a_hash",
        "receipts/receipt_can_be_verified",
        "vaults/vault_shows_no_secret",
        "webhooks/webhook_connector_has_the_fields",
    ];
    assert_eq!(with_status(&report, Status::Skipped), skipped);
    assert_eq!(report.exit_code(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_flaw_fails_exactly_the_checks_for_it() {
    let runs: Vec<_> = FLAWS.iter().map(|(flaw, _)| tokio::spawn(checked(Some(*flaw)))).collect();
    let mut wrong = String::new();
    for ((flaw, expected), run) in FLAWS.iter().zip(runs) {
        let report = run.await.unwrap();
        if with_status(&report, Status::Failed) != *expected {
            wrong.push_str(&format!("{flaw:?}: expected {expected:?}\n{}\n", report.to_text()));
        }
        assert!(!report.to_json().contains(broken::KEY), "{flaw:?}: the key is in the report");
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_check_finds_some_flaw() {
    let found: Vec<&str> = FLAWS.iter().flat_map(|(_, checks)| checks.iter().copied()).collect();
    let all = harn_conformance::checks().map(|check| format!("{}/{}", check.category, check.name));
    let idle: Vec<String> = all.filter(|name| !found.contains(&name.as_str())).collect();
    // The first has a test of its own; without the second no other check could say anything.
    assert_eq!(idle, ["lifecycle/task_settles", "auth-and-scopes/key_is_accepted"]);
}

#[tokio::test]
async fn a_task_that_never_moves_is_given_up_in_time() {
    let url = broken::start(Some(TaskNeverMoves)).await;
    let client = Client::to_url(&url, Some(broken::KEY)).unwrap();
    let mut options = Options::new(url).with_key(broken::KEY);
    options.timeout = Duration::from_millis(1500);
    options.categories = vec![Category::Lifecycle];
    let report = run(client, options).await;
    assert!(with_status(&report, Status::Failed).contains(&"lifecycle/task_settles".to_owned()));
    let settles = &report.categories[0].tests[0];
    assert!(settles.error.as_deref().unwrap().contains("is still WORKING"), "{settles:?}");
}

#[tokio::test]
async fn only_the_chosen_categories_run() {
    let url = broken::start(None).await;
    let client = Client::to_url(&url, Some(broken::KEY)).unwrap();
    let mut options = Options::new(url).with_key(broken::KEY);
    options.categories = vec![Category::Outcomes, Category::Idempotency];
    let report = run(client, options).await;
    let names: Vec<_> = report.categories.iter().map(|category| category.name.as_str()).collect();
    assert_eq!(names, ["idempotency", "outcomes"]);
    assert_eq!(report.summary.failed, 0, "{}", report.to_text());
}

#[tokio::test]
async fn without_a_key_what_needs_one_is_skipped() {
    let url = broken::start(Some(NoKeyNeeded)).await;
    let client = Client::to_url(&url, None).unwrap();
    let mut options = Options::new(url);
    options.categories = vec![Category::AuthAndScopes];
    let report = run(client, options).await;
    assert_eq!((report.summary.failed, report.summary.passed), (0, 0), "{}", report.to_text());
}

#[tokio::test]
async fn a_server_that_is_not_there_fails_once() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let report = run(Client::to_url(&url, None).unwrap(), Options::new(url)).await;
    assert_eq!(with_status(&report, Status::Failed), ["core/discovery"]);
    assert_eq!((report.summary.passed, report.exit_code()), (0, 1));
}
