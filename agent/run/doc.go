// Package run has the words in which a run of an agent is told: messages, questions to a person and their
// answers, limits, and what was spent. Package record keeps runs.
//
// The member Unknown of a type has the JSON members that a later version of this package has written. They are
// kept when the value is written again.
//
// The guide is docs/durability.md of the repository.
package run
