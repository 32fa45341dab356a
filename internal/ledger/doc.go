// Package ledger computes the state of a run from its records.
//
// A [State] is all there is to a run: its history, the tool calls of its current turn, its open
// questions to people, and its usage. It is the fold of its records, see [Entry]:
//
//	state, err := ledger.StateOf(log.Records)
//
// Package agent advances a run; it adds a record before and after everything that has an effect.
// Stores keep records without reading them.
//
// The member Unknown of a type holds the JSON members that a later version of this package has
// written. They are kept when the value is written again.
package ledger
