// Package lc lets programs of langchaingo use agents.
//
// [Chain] is an agent as a chain, [History] is a run as the history of a chat, and
// [Callbacks] tells a handler what happens in a run.
package lc
