//! Letters of a customer: skills come and go with the subject, a colleague is asked, and a lead takes over.

use serde_json::{Value, json};

use crate::kit::{Stage, calls, last, says, system};

const DELIVERY: &str = "---\nname: delivery\ndescription: Where an order or parcel is and when it arrives\n\
                        allowed-tools: order_status, ask_colleague\n---\nA parcel takes three days. Never guess a date.\n";
const REFUNDS: &str = "---\nname: refunds\ndescription: Money back, refund or return of goods\n---\nWithin 30 days, without a reason.\n";

async fn stage(turns: Vec<harn_testkit::providers::anthropic::Turn>) -> Stage {
    let stage = Stage::new("support_bot.harn", &[], turns).await;
    stage.write(".harn/skills/delivery/SKILL.md", DELIVERY);
    stage.write(".harn/skills/refunds/SKILL.md", REFUNDS);
    stage
        .write("orders.json", "[{\"id\": 17, \"price\": 250.0, \"state\": \"sent\", \"customer\": \"Ada\"}]");
    stage
}

/// The task that waits for a person.
fn waiting(stage: &Stage) -> String {
    let listed = stage.harn(&["tasks", "list", "--status", "waiting", "--json"]);
    let listed: Value = serde_json::from_str(&listed.out).unwrap_or_else(|_| panic!("{listed:?}"));
    let all = listed["data"].as_array().unwrap();
    assert_eq!(all.len(), 1, "{listed}");
    all[0]["id"].as_str().unwrap().to_owned()
}

fn shown(stage: &Stage, id: &str) -> Value {
    let shown = stage.harn(&["runs", "show", id, "--json"]);
    serde_json::from_str(&shown.out).unwrap_or_else(|_| panic!("{shown:?}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_answer_while_the_bot_is_not_running() {
    let refund = |amount: f64| calls(&[("refund", json!({ "id": 17, "amount": amount }))]);
    let stage = stage(vec![
        calls(&[("order_status", json!({ "id": 17 }))]),
        calls(&[("ask_colleague", json!({ "question": "Order 17 is late. What do I say?" }))]),
        says("It is on its way and arrives on Monday."),
        refund(900.0),
        refund(250.0),
        says("You have your money back."),
    ])
    .await;
    let letters = [
        "ada@example.com",
        "When does my parcel arrive, order 17?",
        "I want a refund, give me my money back.",
    ];
    let ran = stage.run(&letters);
    assert!(ran.out.starts_with("> When does my parcel arrive, order 17?\n"), "{ran:?}");

    let task = waiting(&stage);
    let asked = stage.harn(&["tasks", "show", &task]);
    assert!(asked.out.contains("ada@example.com asks us. Order 17 is late. What do I say?"), "{asked:?}");
    let answered = stage.harn(&["tasks", "answer", &task, "--reply", "Monday, we have called the driver."]);
    assert_eq!(answered.code, Some(0), "{answered:?}");

    assert_eq!(waiting(&stage), task);
    let asked = stage.harn(&["tasks", "show", &task]);
    assert!(asked.out.contains("ada@example.com wants 250"), "{asked:?}");
    assert!(!stage.has("refunds.csv"));
    let answered = stage.harn(&["tasks", "answer", &task, "--approve"]);
    assert_eq!(answered.code, Some(0), "{answered:?}");

    let run = shown(&stage, &task);
    let expected = "> When does my parcel arrive, order 17?\n  [order_status: ok]\n  [ask_colleague: ok]\n  \
                    [skill: delivery]\nIt is on its way and arrives on Monday.\n\
                    > I want a refund, give me my money back.\n  [refund: error]\n  [refund: ok]\n  [skill: refunds]\n\
                    You have your money back.\n-- 12 messages\n";
    assert_eq!((&run["task"]["status"], &run["output"]), (&json!("COMPLETED"), &json!(expected)), "{run}");
    assert_eq!(stage.read("refunds.csv"), "17,250.0,ada@example.com\n");

    // Every question was asked once, although the run was brought back to memory twice.
    let asked = stage.asked();
    assert_eq!(asked.len(), 6);
    let (first, second) = (system(&asked[0]), system(&asked[3]));
    assert!(first.contains("## Active skill: delivery") && first.contains("Never guess a date."), "{first}");
    assert!(
        second.contains("## Active skill: refunds") && !second.contains("Never guess a date."),
        "{second}"
    );
    assert_eq!(crate::kit::tools(&asked[0]), ["order_status", "ask_colleague", "load_skill"]);
    assert!(crate::kit::tools(&asked[3]).contains(&"refund"));
    assert_eq!(last(&asked[2]), "Monday, we have called the driver.");
    assert!(last(&asked[4]).contains("cost 250"), "{}", last(&asked[4]));
    assert!(asked[3]["messages"].to_string().contains("arrives on Monday"));
}
