// Package record stores runs as append-only lists of records, one for each change of a run.
//
// A [Store] keeps the records of runs ([run.Record]) and the [run.Head] of each: who holds it, and
// what it waits for. A store need not interpret records. An agent appends a record before and
// after everything that has an effect. A run that waits for a person needs no process: its open
// questions ([Log.Questions], [OpenQuestions]) are answered from anywhere with [Submit].
//
// Records contain secrets of servers, such as request states and task ids. [Sealed] encrypts
// what a store keeps, and [Keys.Seal] encrypts state that leaves the process.
//
// The guide is docs/durability.md of the repository.
package record
