//! An exhaustive model of the lease protocol, with the usual wall-clock protocol beside it.
//!
//! One worker item in a registry, two or three processes that claim, renew, release, crash, are
//! forked and cloned, messages that are lost, late and doubled, clocks that are stepped or say
//! anything, threads that sleep between any two steps, and operators who delete, restore and
//! fence. The checker visits every state that these can lead to, within the [`bounds`], and looks
//! for a timestamp that is issued twice under the worker ID.
//!
//! | file | what it holds |
//! |---|---|
//! | [`rules`] | the rules of the protocol, each with a switch that drops it |
//! | [`bounds`] | what makes the model finite |
//! | [`registry`] | the item and its conditional writes |
//! | [`network`] | requests and answers on their way |
//! | [`process`] | what a keeper knows, asks for, and makes of the answers |
//! | [`page`] | the shared slot and its word |
//! | [`thread`] | a thread that makes an ID |
//! | [`state`] | the whole world at one moment |
//! | [`actions`] | what can happen next |
//! | [`step`] | what each action does |
//! | [`properties`] | what must hold in every state |
//! | [`scenarios`] | which protocol in which world, and what must come out |
//! | [`report`], [`words`] | the tables, and an interleaving in plain words |
//! | [`worlds`] | what each world is bounded by, in words |
//! | [`targets`] | how many states the proof must have visited, and in what time |

pub mod actions;
pub mod bounds;
pub mod network;
pub mod page;
pub mod process;
pub mod properties;
pub mod registry;
pub mod report;
pub mod rules;
pub mod scenarios;
pub mod state;
pub mod step;
pub mod targets;
pub mod thread;
pub mod words;
pub mod worlds;
