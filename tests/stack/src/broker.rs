//! A Broker with its Triggers, made as Knative's controllers would make them.
//!
//! Invariant: a Broker takes events when it is returned, and a Trigger gets all that is sent after it is returned.
//! Left out: changing or deleting a Trigger; a test makes a namespace and a Broker of its own.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use kube::{
    Api, ResourceExt,
    api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams},
};
use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::{
    access::{Access, User},
    loopback::http,
};

const LIMIT: Duration = Duration::from_secs(30);
const CHANNEL_CONDITIONS: [&str; 8] = [
    "Ready",
    "Addressable",
    "ChannelServiceReady",
    "DeadLetterSinkResolved",
    "DispatcherReady",
    "EndpointsReady",
    "EventPoliciesReady",
    "ServiceReady",
];

/// When a Broker tells the sender of an event that it has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acknowledge {
    /// When all Triggers have answered, all their retries included, as Knative does by default.
    AfterDelivery,
    /// At once: `messaging.knative.dev/async-handler` on the Broker.
    BeforeDelivery,
}

/// How a Broker delivers.
#[derive(Debug, Clone)]
pub struct BrokerDelivery {
    /// When the sender is answered.
    pub acknowledge: Acknowledge,
    /// A `DeliverySpec`, for Triggers that have none of their own.
    pub spec: Value,
}

impl Default for BrokerDelivery {
    /// As Knative ships it.
    fn default() -> Self {
        let spec = json!({"retry": 10, "backoffPolicy": "exponential", "backoffDelay": "PT0.2S"});
        Self { acknowledge: Acknowledge::AfterDelivery, spec }
    }
}

impl BrokerDelivery {
    /// As shipped, but the sender does not wait.
    #[must_use]
    pub fn asynchronous() -> Self {
        Self { acknowledge: Acknowledge::BeforeDelivery, ..Self::default() }
    }
}

/// Where the Broker's parts listen.
#[derive(Debug, Clone)]
pub(crate) struct Addresses {
    pub(crate) access: Access,
    pub(crate) ingress: String,
    pub(crate) filter: String,
    pub(crate) dispatcher: &'static str,
}

/// A Broker that takes events.
#[derive(Debug)]
pub struct Broker {
    addresses: Addresses,
    namespace: String,
    name: String,
    delivery: BrokerDelivery,
    subscribers: Mutex<Vec<Value>>,
}

impl Broker {
    pub(crate) async fn create(
        addresses: Addresses,
        namespace: &str,
        name: &str,
        delivery: BrokerDelivery,
    ) -> Result<Self> {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        let broker = Self { addresses, namespace, name, delivery, subscribers: Mutex::default() };
        broker.create_channel().await?;
        broker.create_broker().await?;
        broker.until_it_takes_events().await?;
        Ok(broker)
    }

    /// Where events are sent to.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}/{}/{}", self.addresses.ingress, self.namespace, self.name)
    }

    /// Makes a Trigger. `filters` are those of its spec (`[]` takes all); `delivery` replaces the Broker's.
    pub async fn trigger(&self, name: &str, filters: Value, subscriber: &str, delivery: Option<Value>) -> Result<()> {
        let mut subscribers = self.subscribers.lock().await;
        let mut spec = json!({"broker": self.name, "filters": filters, "subscriber": {"uri": subscriber}});
        if let Some(delivery) = &delivery {
            spec["delivery"] = delivery.clone();
        }
        let status = json!({"subscriberUri": subscriber, "conditions": happy(&["Ready", "SubscriberResolved"])});
        let trigger =
            self.create_object("eventing.knative.dev", "Trigger", name, json!({"spec": spec}), status).await?;
        let uid = trigger.uid().context("The API server gave a Trigger no uid")?;
        subscribers.push(json!({
            "uid": uid, "generation": 1, "name": name,
            "subscriberUri": self.filter_path(name, &uid), "replyUri": self.url(),
            "delivery": delivery.unwrap_or_else(|| self.delivery.spec.clone()),
        }));
        self.until_the_filter_knows(name).await?;
        self.subscribe(&subscribers, &uid).await
    }

    async fn create_channel(&self) -> Result<()> {
        let mut annotations = json!({
            "eventing.knative.dev/scope": "cluster",
            "messaging.knative.dev/subscribable": "v1",
        });
        if self.delivery.acknowledge == Acknowledge::BeforeDelivery {
            annotations["messaging.knative.dev/async-handler"] = json!("true");
        }
        let channel = self.channel();
        let host = format!("http://{channel}.{}.svc.cluster.local", self.namespace);
        let status = json!({"address": {"url": host}, "conditions": happy(&CHANNEL_CONDITIONS)});
        let object = json!({"metadata": {"annotations": annotations}, "spec": {"delivery": self.delivery.spec}});
        self.create_object("messaging.knative.dev", "InMemoryChannel", &channel, object, status).await?;
        Ok(())
    }

    async fn create_broker(&self) -> Result<()> {
        let channel = format!("{}/{}/{}", self.addresses.dispatcher, self.namespace, self.channel());
        let class = json!({"eventing.knative.dev/broker.class": "MTChannelBasedBroker"});
        let object = json!({"metadata": {"annotations": class}, "spec": {"delivery": self.delivery.spec}});
        let status = json!({
            "address": {"url": self.url()}, "annotations": {"knative.dev/channelAddress": channel},
            "conditions": happy(&["Ready", "Addressable", "IngressReady", "FilterReady", "TriggerChannelReady"]),
        });
        self.create_object("eventing.knative.dev", "Broker", &self.name, object, status).await?;
        Ok(())
    }

    /// Nobody is subscribed yet, so an event may be sent to see.
    async fn until_it_takes_events(&self) -> Result<()> {
        let http = http()?;
        until("The Broker does not take events", async || {
            let probe = http.post(self.url()).header("ce-specversion", "1.0").header("ce-id", "probe");
            let probe = probe.header("ce-source", "/confroll-stack").header("ce-type", "dev.confroll.stack.probe");
            Ok(probe.send().await?.status() == StatusCode::ACCEPTED)
        })
        .await
    }

    /// The filter sees Triggers in the order of their changes: when it knows one that was made later, it knows
    /// this one with its status. A request that is no event asks it without delivering anything.
    async fn until_the_filter_knows(&self, trigger: &str) -> Result<()> {
        let (http, later) = (http()?, format!("{trigger}-is-known"));
        let spec = json!({"spec": {"broker": self.name, "subscriber": {"uri": "http://127.0.0.1/"}}});
        let object = self.create_object("eventing.knative.dev", "Trigger", &later, spec, json!({})).await?;
        let url = self.filter_path(&later, &object.uid().unwrap_or_default());
        let known = async || Ok(http.post(&url).send().await?.status() == StatusCode::BAD_REQUEST);
        until("The Broker's filter does not know the Trigger", known).await?;
        self.api("eventing.knative.dev", "Trigger").await?.delete(&later, &DeleteParams::default()).await?;
        Ok(())
    }

    /// The dispatcher writes each subscriber that it has taken over into the channel's status. But of a channel
    /// whose newest spec its controller has not observed it takes over nothing, and writes the same: so the spec
    /// is never newer than what is observed.
    async fn subscribe(&self, subscribers: &[Value], uid: &str) -> Result<()> {
        let (api, name) = (self.api("messaging.knative.dev", "InMemoryChannel").await?, self.channel());
        let params = PatchParams::default();
        let generation = api.get(&name).await?.metadata.generation.context("The channel has no generation")?;
        let status = json!({"status": {"observedGeneration": generation + 1}});
        api.patch_status(&name, &params, &Patch::Merge(status)).await?;
        let spec = json!({"spec": {"subscribers": subscribers}});
        api.patch(&name, &params, &Patch::Merge(spec)).await.context("The channel takes no subscriber")?;
        until("The Broker's dispatcher does not take the Trigger over", async || {
            let channel = api.get(&name).await?;
            let taken = channel.data["status"]["subscribers"].as_array().is_some_and(|taken| {
                taken.iter().any(|subscriber| subscriber["uid"] == uid && subscriber["ready"] == "True")
            });
            Ok(taken)
        })
        .await
    }

    fn channel(&self) -> String {
        format!("{}-kne-trigger", self.name)
    }

    fn filter_path(&self, trigger: &str, uid: &str) -> String {
        format!("{}/triggers/{}/{trigger}/{uid}", self.addresses.filter, self.namespace)
    }

    async fn api(&self, group: &str, kind: &str) -> Result<Api<DynamicObject>> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
        Ok(Api::namespaced_with(self.addresses.access.client(User::Admin).await?, &self.namespace, &resource))
    }

    /// Creates an object and writes its status, as a controller would.
    async fn create_object(
        &self,
        group: &str,
        kind: &str,
        name: &str,
        mut object: Value,
        mut status: Value,
    ) -> Result<DynamicObject> {
        object["apiVersion"] = json!(format!("{group}/v1"));
        object["kind"] = json!(kind);
        object["metadata"]["name"] = json!(name);
        let api = self.api(group, kind).await?;
        let object = serde_json::from_value(object)?;
        let what = || format!("{kind} {}/{name} cannot be made", self.namespace);
        let created = api.create(&PostParams::default(), &object).await.with_context(what)?;
        status["observedGeneration"] = json!(created.metadata.generation);
        let patch = Patch::Merge(json!({"status": status}));
        api.patch_status(name, &PatchParams::default(), &patch).await.with_context(what)
    }
}

fn happy(conditions: &[&str]) -> Value {
    conditions.iter().map(|condition| json!({"type": condition, "status": "True"})).collect()
}

async fn until(otherwise: &str, mut holds: impl AsyncFnMut() -> Result<bool>) -> Result<()> {
    let since = Instant::now();
    while !holds().await? {
        if since.elapsed() > LIMIT {
            bail!("{otherwise} within {LIMIT:?}.");
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}
