//! A report about a table: the model chooses what it shows, and the budget says when it is over.

use serde_json::json;

use crate::kit::{Stage, calls, last, says, tools};

const DATA: &str = "region,product,amount\nNorth,Tea,10\nSouth,Tea,20\nNorth,Milk,30\nWest,Milk,5.5\n";
const FACTS: &str = "# Report on sales.csv\n\n4 rows\n\n\
                     - amount: numbers from 5.5 to 30, mean 16.38, median 15, stddev 9.46\n\
                     - product: 2 different texts, such as Milk, Tea\n\
                     - region: 3 different texts, such as North, South, West\n\n";

fn turns() -> Vec<harn_testkit::providers::anthropic::Turn> {
    let table = |by: &str| json!({ "title": "Regions", "by": by, "column": "amount", "measure": "sum" });
    let chart =
        json!({ "title": "Products", "by": "product", "column": "amount", "measure": "mean", "width": 10 });
    vec![
        calls(&[
            ("add_table", table("country")),
            ("add_chart", json!({ "title": "T", "by": "product", "column": "amount", "measure": "mode" })),
        ]),
        calls(&[("add_table", table("region"))]),
        calls(&[("add_chart", chart)]),
        says("The North sells most. Milk is worth more than tea."),
    ]
}

const TABLE: &str =
    "## Regions\n\n| region | sum of amount |\n|---|---:|\n| North | 40 |\n| South | 20 |\n| West | 5.5 |\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_model_chooses_sections_and_corrects_itself() {
    let stage = Stage::new("data_report.harn", &[], turns()).await;
    stage.write("sales.csv", DATA);
    let ran = stage.run(&["sales.csv", "report.md"]);
    assert_eq!((ran.out.as_str(), ran.code), ("report.md: 2 sections, done\n", Some(0)), "{ran:?}");
    let report = stage.read("report.md");
    let chart = "## Products\n\n```text\nMilk ########## 17.75\nTea  ######## 15\n```\n";
    let end = "\nThe North sells most. Milk is worth more than tea.\n";
    assert_eq!(report, format!("{FACTS}{TABLE}\n{chart}{end}"));

    let asked = stage.asked();
    assert_eq!((asked.len(), tools(&asked[0])), (4, vec!["add_table", "add_chart"]));
    let measure = &asked[0]["tools"][0]["input_schema"]["properties"]["measure"];
    assert!(measure.to_string().contains("mean"), "{measure}");
    assert!(
        last(&asked[0]).contains("amount: numbers from 5.5 to 30, mean 16.38, median 15"),
        "{}",
        last(&asked[0])
    );
    // The table itself stays here.
    assert!(!last(&asked[0]).contains("West,Milk"));
    assert!(last(&asked[1]).contains("there is no column 'country'; there are "), "{}", last(&asked[1]));
    assert!(last(&asked[1]).contains("Invalid arguments for add_chart"), "{}", last(&asked[1]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_money_is_gone_the_report_has_what_was_finished() {
    let stage = Stage::new("data_report.harn", &[], turns()).await;
    stage.write("sales.csv", DATA);
    // An answer costs 0.003 dollars, so that the third question is not asked.
    let ran = stage.run(&["sales.csv", "report.md", "0.005"]);
    assert_eq!(
        (ran.out.as_str(), ran.code),
        ("report.md: 1 sections, budget_exhausted\n", Some(0)),
        "{ran:?}"
    );
    let end = "\n_The budget was spent before the report was complete._\n";
    assert_eq!(stage.read("report.md"), format!("{FACTS}{TABLE}{end}"));
    assert_eq!(stage.asked().len(), 2);
}
