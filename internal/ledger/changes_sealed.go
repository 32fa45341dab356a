package ledger

import (
	"errors"
	"time"
)

// Sealed is an encrypted change. A store with the keys decrypts it.
type Sealed struct {
	Box []byte `json:"box"`
}

func (*Sealed) kind() string { return "sealed" }

func (*Sealed) apply(*State, time.Time) error {
	return errors.New("it is sealed: load the run from a sealed store, with its keys")
}
