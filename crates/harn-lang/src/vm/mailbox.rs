//! Mailboxes: channels that tasks find by a name.

use std::collections::{BTreeMap, VecDeque};

use super::Vm;
use super::fibre::Fibre;
use super::object::{ChannelState, Object};
use super::shared::{Place, record};
use super::special::{Done, milliseconds};
use crate::fault::Fault;
use crate::value::{HandleKind, Value};

#[derive(Debug, Default)]
pub struct Mailboxes(BTreeMap<Place, Mailbox>);

#[derive(Debug)]
struct Mailbox {
    /// A channel; as long as the mailbox has it, it is kept.
    channel: Value,
    id: u32,
    scope: String,
    sent: i64,
    received: i64,
    /// Sent after it was closed.
    rejected: i64,
}

impl Mailboxes {
    /// Roughly the bytes that it takes; what is in the channels is counted there.
    pub fn size(&self) -> u64 {
        self.0.keys().map(|(scope, key)| (192 + scope.len() + key.len()) as u64).sum()
    }
}

impl Vm {
    pub(super) fn mailbox(
        &mut self,
        fibre: &mut Fibre,
        name: &'static str,
        args: &[Value],
    ) -> Result<Done, Fault> {
        let arg = |at: usize| args.get(at).cloned().unwrap_or_default();
        if name == "mailbox_open" {
            return Ok(self.open_mailbox(fibre, &arg(0), &arg(1))?.into());
        }
        let place = match (&arg(0), name) {
            (options @ Value::Dict(dict), _) if !dict.has("_type") => {
                self.open(fibre, options, "mailbox", "name")?.1
            }
            (target, _) => self.place(fibre, target, "mailbox", name)?,
        };
        let Some(id) = self.mailboxes.0.get(&place).map(|mailbox| mailbox.id) else {
            return match name {
                "mailbox_lookup" => Ok(Value::Nil.into()),
                "mailbox_send" | "mailbox_close" => Ok(Value::Bool(false).into()),
                _ => Err(Fault::thrown(format!("{name}: there is no mailbox '{}' in {}", place.1, place.0))),
            };
        };
        match name {
            "mailbox_lookup" => Ok(if self.is_open(id) { self.handle(&place) } else { Value::Nil }.into()),
            "mailbox_send" => self.send_to_mailbox(fibre, &place, arg(1)),
            "mailbox_receive" => self.receive_from_mailbox(fibre, &place, milliseconds(&arg(1))),
            "mailbox_try_receive" => self.receive_from_mailbox(fibre, &place, Some(0)),
            "mailbox_close" => {
                let was_open = self.is_open(id);
                self.close_channel(id);
                Ok(Value::Bool(was_open).into())
            }
            _ => Ok(self.mailbox_metrics(&place).into()),
        }
    }

    fn open_mailbox(&mut self, fibre: &Fibre, options: &Value, capacity: &Value) -> Result<Value, Fault> {
        let (_, place) = self.open(fibre, options, "mailbox", "name")?;
        let is_open = self.mailboxes.0.get(&place).is_some_and(|mailbox| self.is_open(mailbox.id));
        if !is_open {
            let dict = options.as_dict();
            let given = capacity.as_int().or_else(|| dict?.get("capacity")?.as_int());
            let capacity = given.and_then(|size| usize::try_from(size).ok()).unwrap_or(256).max(1);
            let scope = dict.and_then(|dict| dict.get("scope")?.as_str()).unwrap_or("task_group").to_owned();
            self.pay(fibre, 192 + place.0.len() + place.1.len())?;
            let state = ChannelState { items: VecDeque::new(), capacity, is_closed: false };
            let channel = self.add_object(fibre, HandleKind::Channel, Object::Channel(state), &place.1)?;
            let Value::Handle(handle) = &channel else { return Ok(Value::Nil) };
            let id = handle.id;
            let mailbox = Mailbox { channel, id, scope, sent: 0, received: 0, rejected: 0 };
            self.mailboxes.0.insert(place.clone(), mailbox);
        }
        Ok(self.handle(&place))
    }

    fn is_open(&self, id: u32) -> bool {
        matches!(self.objects.get(id), Some(Object::Channel(channel)) if !channel.is_closed)
    }

    /// What a program holds of a mailbox.
    fn handle(&self, place: &Place) -> Value {
        let Some(mailbox) = self.mailboxes.0.get(place) else { return Value::Nil };
        Value::record([
            ("_type", Value::str("mailbox")),
            ("name", Value::str(place.1.as_str())),
            ("scope", Value::str(mailbox.scope.as_str())),
            ("scope_id", Value::str(place.0.as_str())),
            ("capacity", Value::Int(self.channel_state(mailbox.id).map_or(0, |state| state.capacity as i64))),
        ])
    }

    fn channel_state(&self, id: u32) -> Option<&ChannelState> {
        match self.objects.get(id) {
            Some(Object::Channel(state)) => Some(state),
            _ => None,
        }
    }

    fn send_to_mailbox(&mut self, fibre: &mut Fibre, place: &Place, value: Value) -> Result<Done, Fault> {
        let Some(channel) = self.mailboxes.0.get(place).map(|mailbox| mailbox.channel.clone()) else {
            return Ok(Value::Bool(false).into());
        };
        let done = self.send(fibre, &channel, value)?;
        if let (Done::Value(sent), Some(mailbox)) = (&done, self.mailboxes.0.get_mut(place)) {
            match sent.is_truthy() {
                true => mailbox.sent += 1,
                false => mailbox.rejected += 1,
            }
        }
        Ok(done)
    }

    fn receive_from_mailbox(
        &mut self,
        fibre: &mut Fibre,
        place: &Place,
        timeout: Option<i64>,
    ) -> Result<Done, Fault> {
        let Some(mailbox) = self.mailboxes.0.get_mut(place) else { return Ok(Value::Nil.into()) };
        let id = mailbox.id;
        match self.objects.receive(id) {
            Some(Some(value)) => {
                mailbox.received += 1;
                self.wake_waiters(id);
                Ok(value.into())
            }
            Some(None) => Ok(Value::Nil.into()),
            None if self.is_time_over(fibre, timeout) => Ok(Value::Nil.into()),
            None => Ok(Done::Flow(self.wait_on(fibre, &[id]))),
        }
    }

    fn mailbox_metrics(&self, place: &Place) -> Value {
        let Some(mailbox) = self.mailboxes.0.get(place) else { return Value::Nil };
        let state = self.channel_state(mailbox.id);
        record(vec![
            ("name", Value::str(place.1.as_str())),
            ("capacity", Value::Int(state.map_or(0, |state| state.capacity as i64))),
            ("depth", Value::Int(state.map_or(0, |state| state.items.len() as i64))),
            ("sent", Value::Int(mailbox.sent)),
            ("received", Value::Int(mailbox.received)),
            ("rejected", Value::Int(mailbox.rejected)),
            ("closed", Value::Bool(!self.is_open(mailbox.id))),
        ])
    }
}
