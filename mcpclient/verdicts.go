package mcpclient

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// Verdicts remembers for [Protocol.EraCache] which revisions servers were found to
// speak, so that the next client begins with the right era: a legacy server is
// not asked server/discover first, which some take long to refuse, and others die
// of. A server that turns out to be another one is asked anew.
//
// The zero value is ready, and may be shared by any number of clients. As JSON it
// may be kept for the next run of a program; what of that cannot be used is left
// out when it is read. It names no server: a server is known by a digest of its
// URL, or of its command line and directory. A [Transport] of another kind takes
// part when it has a method Identity() string that tells its servers apart.
//
// A verdict holds for 24 h, then its server is asked again: it may have learned
// the modern era. Of more than 1,024 the oldest are forgotten.
type Verdicts struct {
	mu    sync.Mutex
	known map[string]verdict
}

type verdict struct {
	Revision string    `json:"revision"`
	Since    time.Time `json:"since"`
}

const (
	verdictLife = 24 * time.Hour
	maxVerdicts = 1024
)

// holds reports whether a verdict is not too old. One from the future is of a
// clock that was wrong.
func (v verdict) holds(now time.Time) bool {
	age := now.Sub(v.Since)
	return age >= 0 && age < verdictLife && (isLegacy(v.Revision) || isModern(v.Revision))
}

// find returns the revision of a server, "" when none is known.
func (v *Verdicts) find(t Transport) string {
	if v == nil {
		return ""
	}
	key := identity(t)
	if key == "" {
		return ""
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if found := v.known[key]; found.holds(time.Now()) {
		return found.Revision
	}
	return ""
}

// keep remembers the revision of a server. What is known already is not made
// younger by finding it true.
func (v *Verdicts) keep(t Transport, revision string) {
	if v == nil {
		return
	}
	key := identity(t)
	if key == "" {
		return
	}
	now := time.Now()
	v.mu.Lock()
	defer v.mu.Unlock()
	if found := v.known[key]; found.Revision == revision && found.holds(now) {
		return
	}
	if v.known == nil {
		v.known = map[string]verdict{}
	}
	v.known[key] = verdict{revision, now}
	v.trimLocked()
}

func (v *Verdicts) trimLocked() {
	if len(v.known) <= maxVerdicts {
		return
	}
	oldest := slices.SortedFunc(maps.Keys(v.known), func(a, b string) int {
		return v.known[a].Since.Compare(v.known[b].Since)
	})
	for _, key := range oldest[:len(oldest)-maxVerdicts] {
		delete(v.known, key)
	}
}

// Clear forgets all verdicts.
func (v *Verdicts) Clear() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.known = nil
}

// MarshalJSON writes what is known, for [Verdicts.UnmarshalJSON].
func (v *Verdicts) MarshalJSON() ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.known == nil {
		return []byte("{}"), nil
	}
	return jsonrpc.Marshal(v.known)
}

// UnmarshalJSON replaces what is known by what [Verdicts.MarshalJSON] wrote.
func (v *Verdicts) UnmarshalJSON(data []byte) error {
	var read map[string]verdict
	if err := json.Unmarshal(data, &read); err != nil {
		return fmt.Errorf("verdicts: %w", err)
	}
	now := time.Now()
	maps.DeleteFunc(read, func(key string, found verdict) bool { return len(key) != identitySize || !found.holds(now) })
	v.mu.Lock()
	defer v.mu.Unlock()
	v.known = read
	v.trimLocked()
	return nil
}

const identitySize = 32 // digits of the key of a server

// identity is the key of the server that a transport reaches, "" when that
// cannot be told. It gives nothing away of what may be secret.
func identity(t Transport) string {
	var parts []string
	switch t := t.(type) {
	case *Command:
		parts = append([]string{"command", t.Dir, t.Path}, t.Args...)
	case *HTTP:
		parts = []string{"http", t.URL}
	case interface{ Identity() string }:
		if parts = []string{"other", t.Identity()}; parts[1] == "" {
			return ""
		}
	default:
		return ""
	}
	h := sha256.New()
	for _, part := range parts {
		_, _ = io.WriteString(h, strings.ReplaceAll(part, "\x00", "\x00\x00")+"\x00")
	}
	return hex.EncodeToString(h.Sum(nil))[:identitySize]
}
