// Package record keeps runs as records: each change of a run is one, in an append-only list.
//
// A [State] is all there is to a run: its history, the tool calls of its present
// turn, what it asks a person, and what it has spent. It is the fold of its
// records, which a [Store] keeps, see [Record]:
//
//	state, err := record.StateOf(log.Records)
//
// Package agent moves a run on; it appends a record before and after everything that
// has an effect. A run that waits for a person is rows of a store: the open questions
// of a state, see [run.Question], are answered from any process by [Store.Reply].
//
// A state has secrets of others, such as the request states and task ids of servers.
// [Sealed] encrypts what a store keeps, [Keys.Seal] a state that leaves the server.
//
// The member Unknown of a type has the JSON members that a later version of this package has written. They are
// kept when the value is written again.
//
// The guide is docs/durability.md of the repository.
package record
