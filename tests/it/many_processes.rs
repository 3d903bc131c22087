//! The function killed at any moment, and many of it at once, on a real API server: each change rolls out once.

use std::collections::BTreeSet;

use confroll_stack::{Function, RecordingSink};
use futures::future::join_all;
use serde_json::json;

use crate::shop::{Shop, function, stack, workload};
use crate::sink::http;
use crate::support::{ChangeEvent, told};

const FAN_OUT: usize = 100;
const KILLS: usize = 50;

fn names(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("w{n}")).collect()
}

/// Workloads, the n-th of which uses the ConfigMap that `uses` names.
async fn shop(count: usize, uses: impl Fn(usize) -> String) -> Shop {
    let sources: BTreeSet<String> = (0..count).map(&uses).collect();
    let mut objects = Vec::new();
    for source in &sources {
        objects.push((format!("configmaps/{source}"), json!({ "metadata": {}, "data": { "a": "0" } })));
    }
    for (n, name) in names(count).iter().enumerate() {
        let env_from = json!([{ "configMapRef": { "name": uses(n) } }]);
        objects.push((format!("deployments/{name}"), workload(name, &json!({ "main": { "envFrom": env_from } }))));
    }
    let objects: Vec<_> = objects.iter().map(|(key, object)| (key.as_str(), object.clone())).collect();
    Shop::unattended(&objects).await
}

/// Tells a function of a change as the source does; `None` where it died meanwhile.
async fn tell(function: &Function, shop: &Shop, id: &str, name: &str) -> Option<u16> {
    let mut event = ChangeEvent::update("ConfigMap", name);
    event.id = id.to_owned();
    event.data["namespace"] = json!(shop.namespace);
    let answer = event.request(&http(), function.url()).send().await.ok()?;
    Some(answer.status().as_u16())
}

/// Numbers that look like chance, and are the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_point_of_a_fan_out_all_roll_out_once_and_are_told() {
    let shop = shop(FAN_OUT, |_| "app".to_owned()).await;
    let mut chance = Chance(7);
    for round in 1..=KILLS {
        let sink = RecordingSink::start().await.unwrap();
        let first = function(stack().await, sink.url()).await;
        let at = chance.below(FAN_OUT);
        shop.patch("configmaps/app", json!({ "data": { "a": round.to_string() } })).await;
        let id = format!("change-{round}");
        let dying = tell(&first, &shop, &id, "app");
        let killer = async {
            // Whichever comes to this workload first is in the middle of its work.
            shop.rolled_out(&format!("deployments/w{at}"), round).await;
            first.kill();
        };
        tokio::join!(dying, killer);
        // What was not answered comes again, to a process that knows nothing.
        let second = function(stack().await, sink.url()).await;
        assert_eq!(tell(&second, &shop, &id, "app").await, Some(202), "round {round}\n{}", second.log());
        for name in names(FAN_OUT) {
            shop.rolled_out(&format!("deployments/{name}"), round).await;
            assert_eq!(shop.rollouts(&format!("deployments/{name}")), round, "round {round}, killed at w{at}: {name}");
        }
        let ids: BTreeSet<String> = told(&sink).into_iter().map(|event| event.id).collect();
        assert_eq!(ids.len(), FAN_OUT, "round {round}: each was told, and a second time with the same id");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_and_eight_processes_that_take_the_same_burst_roll_out_each_change_once() {
    const SOURCES: usize = 40;
    let shop = shop(SOURCES, |n| format!("c{n}")).await;
    let sink = RecordingSink::start().await.unwrap();
    for (round, processes) in [2, 8].into_iter().enumerate() {
        let times = round + 1;
        let functions = join_all((0..processes).map(|_| async { function(stack().await, sink.url()).await })).await;
        let sources: Vec<_> = (0..SOURCES).map(|n| format!("c{n}")).collect();
        for name in &sources {
            shop.patch(&format!("configmaps/{name}"), json!({ "data": { "a": times.to_string() } })).await;
        }
        let tellings = functions.iter().flat_map(|function| {
            let shop = &shop;
            sources.iter().map(move |name| async move {
                let id = format!("{times}-{name}");
                // As a Broker does: what is given back comes again.
                while tell(function, shop, &id, name).await != Some(202) {}
            })
        });
        join_all(tellings).await;
        for name in names(SOURCES) {
            shop.rolled_out(&format!("deployments/{name}"), times).await;
            assert_eq!(shop.rollouts(&format!("deployments/{name}")), times, "{processes} processes: {name}");
        }
    }
}
