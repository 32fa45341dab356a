package oauth

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Key names an entry of a [Store]. A token has Resource and Issuer, a client registration only Issuer, and the link
// from a server to its authorization server only Resource. So no token or registration is found for another issuer.
type Key struct {
	Account  string `json:"Profile"` // see [Options.Account]; files are named by the JSON of a key
	Resource string
	Issuer   string
}

// Store keeps tokens and client registrations. Its methods may be called concurrently, and an
// implementation may be shared by any number of transports and processes. The values are secret
// JSON. Accept values of up to 1 MiB, as [NewFileStore] does.
type Store interface {
	// Load returns the value of a key, or nil if there is none.
	Load(ctx context.Context, key Key) ([]byte, error)

	// Update replaces the value of a key by the result of change; nil deletes it. While change runs, no other caller,
	// in this process or another, updates that key. change may take as long as a request to an authorization server. If
	// change fails, the value stays and Update returns the error.
	Update(ctx context.Context, key Key, change func(ctx context.Context, old []byte) ([]byte, error)) error
}

// NewMemoryStore returns a store in memory. Its contents are lost when the process ends.
func NewMemoryStore() Store {
	return &memoryStore{values: map[Key][]byte{}, updates: map[Key]chan struct{}{}}
}

type memoryStore struct {
	mu      sync.Mutex
	values  map[Key][]byte
	updates map[Key]chan struct{} // the running updates; each is closed at its end
}

func (s *memoryStore) Load(_ context.Context, key Key) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.values[key], nil
}

func (s *memoryStore) Update(ctx context.Context, key Key, change func(context.Context, []byte) ([]byte, error)) error {
	if err := s.begin(ctx, key); err != nil {
		return err
	}
	defer s.end(key)
	old, _ := s.Load(ctx, key)
	value, err := change(ctx, old)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[key] = value
	if value == nil {
		delete(s.values, key)
	}
	return nil
}

// begin waits until no other update of the key runs.
func (s *memoryStore) begin(ctx context.Context, key Key) error {
	for {
		s.mu.Lock()
		running := s.updates[key]
		if running == nil {
			s.updates[key] = make(chan struct{})
			s.mu.Unlock()
			return nil
		}
		s.mu.Unlock()
		select {
		case <-running:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *memoryStore) end(key Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.updates[key])
	delete(s.updates, key)
}

// token is the stored result of one authorization. It is printed without its secrets.
type token struct {
	Access     string    `json:"access_token"`
	Type       string    `json:"token_type"` // Bearer or DPoP
	Refresh    string    `json:"refresh_token,omitempty"`
	Expiry     time.Time `json:"expiry,omitzero"` // zero if unknown
	Issued     time.Time `json:"issued,omitzero"`
	Granted    []string  `json:"granted,omitempty"`    // scopes, as far as known
	Requested  []string  `json:"requested,omitempty"`  // all scopes requested so far
	ClientID   string    `json:"client_id,omitempty"`  // the client it was issued to
	Thumbprint string    `json:"thumbprint,omitempty"` // the thumbprint of the DPoP key; empty for a bearer token
	ProofAlg   string    `json:"proof_alg,omitempty"`  // the algorithm of DPoP proofs that its issuer took; may be empty
}

// Format writes the type, the granted scopes and the expiry, whatever the verb.
func (t token) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "oauth.Token{%s, scopes %q, expiry %s}", t.Type, t.Granted, t.Expiry.Format(time.RFC3339))
}

// LogValue returns the text that Format writes.
func (t token) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(t)) }

// isExpired reports whether a token ends within margin.
func (t *token) isExpired(now time.Time, margin time.Duration) bool {
	return !t.Expiry.IsZero() && !now.Add(margin).Before(t.Expiry)
}

// Times before the end of a token. Within earlyRenewal of it the token is renewed while it is still
// used; within lastUse it is not used, because it could expire on its way to the server.
const (
	earlyRenewal = time.Minute
	lastUse      = 5 * time.Second
	renewalPause = 10 * time.Second // the pause after a failed renewal, while the token is valid
)

// earlyMargin returns the time before a token's end to renew it: at most a fifth of its life.
func (t *token) earlyMargin() time.Duration { return t.margin(earlyRenewal, 5) }

// lastMargin returns the time before a token's end to stop using it: at most a tenth of its life.
func (t *token) lastMargin() time.Duration { return t.margin(lastUse, 10) }

// margin returns longest, but not more than a part of the token's life.
func (t *token) margin(longest, part time.Duration) time.Duration {
	if t.Issued.IsZero() || t.Expiry.IsZero() {
		return longest
	}
	return min(longest, t.Expiry.Sub(t.Issued)/part)
}

// link is the entry from a server to its authorization server.
type link struct {
	Resource string `json:"resource"`
	Issuer   string `json:"issuer"`
}

// load reads an entry into v; false means no entry.
func load(ctx context.Context, s Store, key Key, v any) (bool, error) {
	data, err := s.Load(ctx, key)
	if err != nil {
		return false, fmt.Errorf("load from the token store: %w", err)
	}
	return decodeEntry(data, v), nil
}

// decodeEntry reads an entry. An unreadable entry counts as none: it will be replaced.
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
