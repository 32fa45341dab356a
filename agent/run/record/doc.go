// Package record keeps runs as records: each change of a run is one, in an append-only list.
//
// A [Store] keeps the records of runs, see [run.Record], and of each run its [run.Head]: who works on it, whether it waits, and for what.
// What a record says is known to package agent alone, which moves a run on. It appends a record before and after everything that
// has an effect. A run that waits for a person is rows of a store: its open questions, see [Log.Questions] and [OpenQuestions], are
// answered from any process by [Submit].
//
// Records have secrets of others, such as the request states and task ids of servers.
// [Sealed] encrypts what a store keeps, [Keys.Seal] a state that leaves the server.
//
// The guide is docs/durability.md of the repository.
package record
