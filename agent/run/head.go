package run

import (
	"encoding/json"
	"time"
)

// Head is what a store knows of a run without its records. The agent writes it with
// each append; Epoch, Held, TTL and Answers are the store's own.
type Head struct {
	Key       Key       `json:"key"`
	Agent     string    `json:"agent,omitzero"` // by which package agent finds the agent
	Status    Status    `json:"status"`
	Questions []string  `json:"asks,omitempty"`    // ids of the open questions
	Wake      time.Time `json:"wake,omitzero"`     // when a waiting run continues without an answer
	Seq       uint64    `json:"seq"`               // of the last record
	Snapshot  uint64    `json:"snapshot,omitzero"` // record with the last snapshot; 0: there is none
	Created   time.Time `json:"created,omitzero"`
	Updated   time.Time `json:"updated,omitzero"`

	// OpenQuestions are the open questions as a JSON array, in the order of Questions. It is empty if they are longer than
	// 2 KiB, and in a store that seals what it keeps: the records have them.
	OpenQuestions json.RawMessage `json:"questions,omitempty"`

	// Takeovers is that of the state: more than a few are suspicious.
	Takeovers int `json:"takeovers,omitzero"`

	Epoch uint64    `json:"epoch,omitzero"` // of the last lease
	Held  time.Time `json:"held,omitzero"`  // until when; zero: not held

	// TTL is for how long the last lease was taken or renewed; 0: it is not known. It is not a part of the JSON.
	TTL time.Duration `json:"-"`

	// Replies counts the answers to open questions.
	Replies int `json:"answers,omitzero"`
}

// MaxLead is how much later than its time a lease may end: clocks are read a moment before what they are read for is kept.
const MaxLead = time.Second

// HeldAt reports whether the run is held at a time. A lease that ends later than it could if it were taken then is void: the
// clock was set back, and its holder may have ended long ago.
func (h Head) HeldAt(now time.Time) bool {
	return now.Before(h.Held) && (h.TTL <= 0 || !h.Held.After(now.Add(h.TTL+MaxLead)))
}

// Due reports whether the run can go on: it is not held, it is not over, and it runs,
// has an answer, or has waited long enough.
func (h Head) Due(now time.Time) bool {
	if h.Status.Ended() || h.HeldAt(now) {
		return false
	}
	return h.Status == StatusRunning || h.Replies > 0 || !h.Wake.IsZero() && !now.Before(h.Wake)
}
