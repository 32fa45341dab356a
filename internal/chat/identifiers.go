package chat

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"math/big"
	"strings"
)

// names translates tool names between the caller, whose names may be up to 128
// long and hold dots, and the host, which takes 64 of [A-Za-z0-9_-]. Gemini and
// Moonshot want a letter or _ first. It is a bijection over the names of one request.
type names struct {
	out map[string]string
	in  map[string]string
}

// namesOf collects the names of a request. Names that a host takes keep
// themselves, so the others must not become one of them.
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

// rename gives a name that stays readable and ends in a hash of the original.
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

// leads says whether a name may begin with a character.
func leads(c byte) bool { return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func (n *names) outgoing(name string) string { return n.out[name] }

// incoming is the caller's name for what the host called. A model may call a
// tool that it was not given; its name stays as it is.
func (n *names) incoming(name string) string {
	if original, ok := n.in[name]; ok {
		return original
	}
	return name
}

// ids translates tool call ids that the host would refuse. The translation
// depends on the id alone, so a conversation looks the same in every request.
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

// newCallID makes an id for a call that came without one.
func newCallID() string { return "call_" + rand.Text()[:20] }

// plain says whether s is 1 to limit of [A-Za-z0-9_-].
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

// digest is n characters of [0-9a-z] that depend on s.
func digest(s string, n int) string {
	sum := sha256.Sum256([]byte(s))
	return new(big.Int).SetBytes(sum[:]).Text(36)[:n]
}
