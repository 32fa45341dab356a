package chat

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"math/big"
	"strings"
)

// names translates tool names. The caller's names may be up to 128 long and
// hold dots; a host takes 64 of [A-Za-z0-9_-], Gemini and Moonshot with a
// letter or _ first. The translation is a bijection over the names of one
// request.
type names struct {
	out map[string]string
	in  map[string]string
}

// namesOf collects the names of a request. A name that the host takes stays the
// same; a translated name must differ from all of them.
func namesOf(r *Request) *names {
	n := &names{out: map[string]string{}, in: map[string]string{}}
	var odd []string
	add := func(name string) {
		if !plain(name, 64) || !leads(name[0]) {
			odd = append(odd, name)
			return
		}
		n.out[name], n.in[name] = name, name
	}
	for _, t := range r.Tools {
		add(t.Name)
	}
	for _, m := range r.Messages {
		for _, call := range m.ToolCalls {
			add(call.Name)
		}
	}
	for _, name := range odd {
		n.rename(name)
	}
	return n
}

// rename makes a readable name with a hash of the original at its end.
func (n *names) rename(name string) {
	if n.out[name] != "" {
		return
	}
	readable := strings.Map(func(r rune) rune {
		if alphanumeric(r) || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
	if readable != "" && !leads(readable[0]) {
		readable = "_" + readable
	}
	for salt := 0; ; salt++ {
		short := readable[:min(len(readable), 55)] + "_" + digest(fmt.Sprint(name, salt), 8)
		if _, taken := n.in[short]; !taken {
			n.out[name], n.in[short] = short, name
			return
		}
	}
}

// leads reports whether a name may begin with a character.
func leads(c byte) bool { return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func (n *names) outgoing(name string) string { return n.out[name] }

// incoming translates the host's name of a tool into the caller's. A model may
// call an unknown tool; its name stays unchanged.
func (n *names) incoming(name string) string {
	if original, ok := n.in[name]; ok {
		return original
	}
	return name
}

// ids translates tool call ids that the host would refuse. The translation
// depends only on the id, so a conversation is the same in every request.
type ids struct {
	rule idRule
	out  map[string]string
	used map[string]bool
}

func newIDs(rule idRule) *ids {
	return &ids{rule: rule, out: map[string]string{}, used: map[string]bool{}}
}

func (s *ids) outgoing(id string) string {
	if out, ok := s.out[id]; ok {
		return out
	}
	out := id
	for salt := 0; !s.rule.accepts(out) || s.used[out]; salt++ {
		out = digest(fmt.Sprint(id, salt), 9)
	}
	s.out[id], s.used[out] = out, true
	return out
}

func (r idRule) accepts(id string) bool {
	switch r {
	case plainID:
		return plain(id, 40)
	case shortID:
		return len(id) == 9 && plain(id, 9) && !strings.ContainsAny(id, "_-")
	}
	return len(id) <= 256
}

// newCallID makes an id for a call without an id.
func newCallID() string { return "call_" + rand.Text()[:20] }

// plain reports whether s is 1 to limit of [A-Za-z0-9_-].
func plain(s string, limit int) bool {
	if s == "" || len(s) > limit {
		return false
	}
	for _, r := range s {
		if !alphanumeric(r) && r != '_' && r != '-' {
			return false
		}
	}
	return true
}

func alphanumeric(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// digest is a hash of s in n characters of [0-9a-z].
func digest(s string, n int) string {
	sum := sha256.Sum256([]byte(s))
	return new(big.Int).SetBytes(sum[:]).Text(36)[:n]
}
