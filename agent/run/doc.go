// Package run defines the data of a run of an agent: messages, questions to a person and their
// replies, limits, usage, and the head and records that a store keeps. Package record has the
// stores.
//
// In JSON a reply is an "answer", and a question is an "ask".
//
// A field Unknown holds JSON members that a later version of this package wrote. They are kept
// when the value is written again.
//
// The guide is docs/durability.md of the repository.
package run
