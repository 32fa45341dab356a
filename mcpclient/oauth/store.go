package oauth

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Key names an entry of a [Store]. Which fields are set depends on the entry:
// a token has Resource and Issuer, a client registration only the Issuer, and
// the link from a server to its authorization server only the Resource. So no
// token or registration is ever found for another issuer.
type Key struct {
	Profile  string // of whom; see Options.Profile
	Resource string
	Issuer   string
}

// Store keeps tokens and client registrations. Its methods may be called
// concurrently, and an implementation may be shared by any number of transports
// and processes. The values are secret, and are JSON.
type Store interface {
	// Load returns the value of a key, or nil when there is none.
	Load(ctx context.Context, key Key) ([]byte, error)

	// Update replaces the value of a key by what change makes of it; nil deletes
	// it. While change runs, which may take as long as a request to an
	// authorization server, nobody else, in this process or another, updates
	// that key. When change fails nothing is changed and Update returns its
	// error.
	Update(ctx context.Context, key Key, change func(ctx context.Context, old []byte) ([]byte, error)) error
}

// MemoryStore returns a store that forgets everything with the process.
func MemoryStore() Store {
	return &memoryStore{values: map[Key][]byte{}, locks: map[Key]chan struct{}{}}
}

type memoryStore struct {
	mu     sync.Mutex
	values map[Key][]byte
	locks  map[Key]chan struct{} // each has room for one holder
}

func (s *memoryStore) Load(_ context.Context, key Key) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.values[key], nil
}

func (s *memoryStore) Update(ctx context.Context, key Key, change func(context.Context, []byte) ([]byte, error)) error {
	lock := s.lock(key)
	select {
	case lock <- struct{}{}:
		defer func() { <-lock }()
	case <-ctx.Done():
		return ctx.Err()
	}
	old, _ := s.Load(ctx, key)
	value, err := change(ctx, old)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values[key] = value; value == nil {
		delete(s.values, key)
	}
	return nil
}

func (s *memoryStore) lock(key Key) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.locks[key] == nil {
		s.locks[key] = make(chan struct{}, 1)
	}
	return s.locks[key]
}

// Token is what is kept of one authorization. It is printed without its
// secrets.
type Token struct {
	Access     string    `json:"access_token"`
	Type       string    `json:"token_type"` // Bearer or DPoP
	Refresh    string    `json:"refresh_token,omitempty"`
	Expiry     time.Time `json:"expiry,omitzero"` // zero when the server did not say
	Issued     time.Time `json:"issued,omitzero"`
	Granted    []string  `json:"granted,omitempty"`    // the scopes that it has, as far as known
	Requested  []string  `json:"requested,omitempty"`  // the scopes that were asked for, over time
	ClientID   string    `json:"client_id,omitempty"`  // whom it was issued to
	Thumbprint string    `json:"thumbprint,omitempty"` // of the DPoP key that it is bound to
}

func (t Token) String() string {
	return fmt.Sprintf("oauth.Token{%s, scopes %q, expiry %s}", t.Type, t.Granted, t.Expiry.Format(time.RFC3339))
}

// GoString is String.
func (t Token) GoString() string { return t.String() }

// LogValue is String.
func (t Token) LogValue() slog.Value { return slog.StringValue(t.String()) }

// expired reports a token that is not good for another moment.
func (t *Token) expired(now time.Time, margin time.Duration) bool {
	return !t.Expiry.IsZero() && !now.Add(margin).Before(t.Expiry)
}

// link is the entry that leads from a server to its authorization server.
type link struct {
	Resource string `json:"resource"`
	Issuer   string `json:"issuer"`
}

// load reads an entry into v; false is none.
func load(ctx context.Context, s Store, key Key, v any) (bool, error) {
	data, err := s.Load(ctx, key)
	if err != nil {
		return false, fmt.Errorf("load from the token store: %w", err)
	}
	return decodeEntry(data, v), nil
}

// decodeEntry reads an entry. One that cannot be read counts as none: it will
// be replaced.
func decodeEntry(data []byte, v any) bool {
	return len(data) > 0 && json.Unmarshal(data, v) == nil
}

// save writes an entry; nil deletes it.
func save(ctx context.Context, s Store, key Key, v any) error {
	err := s.Update(ctx, key, func(context.Context, []byte) ([]byte, error) {
		if v == nil {
			return nil, nil
		}
		return json.Marshal(v)
	})
	if err != nil {
		return fmt.Errorf("save to the token store: %w", err)
	}
	return nil
}
