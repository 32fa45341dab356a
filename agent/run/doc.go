// Package run has the words in which a run of an agent is told: messages, questions to a person and their
// answers, limits, what was spent, and the head and the records as which it is kept. Package record keeps runs.
//
// The member Unknown of a type has the JSON members that a later version of this package has written. They are
// kept when the value is written again.
//
// The guide is docs/durability.md of the repository.
package run
