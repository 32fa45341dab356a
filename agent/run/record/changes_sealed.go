package record

import (
	"errors"
	"time"
)

// Boxed is a change that is sealed: a store with its keys opens it.
type Boxed struct {
	Box []byte `json:"box"`
}

func (*Boxed) kind() string { return "sealed" }

func (*Boxed) apply(*State, time.Time) error {
	return errors.New("it is sealed: load the run from a sealed store, with its keys")
}
