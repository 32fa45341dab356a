package chat

import (
	"crypto/sha256"
	"fmt"
	"math/big"
	"regexp"
)

var (
	plainName    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)
	plainStart   = regexp.MustCompile(`^[A-Za-z_]`)
	oddCharacter = regexp.MustCompile(`[^A-Za-z0-9_-]`)
	plainIDs     = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)
	shortIDs     = regexp.MustCompile(`^[A-Za-z0-9]{9}$`)
)

// names translates tool names. The caller's names have up to 128 characters and may have dots. Hosts take up to 64 of
// [A-Za-z0-9_-], and Gemini and Moonshot want a letter or _ first. No two names of a request have the same translation.
type names struct {
	out map[string]string // the host's names, by the caller's
	in  map[string]string // the caller's names, by the host's
}

// newNames translates the names of a request. Names that the host accepts come first: they stay as they are, and no
// translation may be one of them.
func newNames(r *Request) *names {
	n := &names{out: map[string]string{}, in: map[string]string{}}
	var refused []string
	add := func(name string) {
		if !plainName.MatchString(name) {
			refused = append(refused, name)
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
	for _, name := range refused {
		n.rename(name)
	}
	return n
}

// rename translates a name into a readable one that ends in a hash of the original.
func (n *names) rename(name string) {
	if n.out[name] != "" {
		return
	}
	readable := oddCharacter.ReplaceAllLiteralString(name, "_")
	if !plainStart.MatchString(readable) {
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

// outgoing translates the caller's name of a tool into the host's.
func (n *names) outgoing(name string) string { return n.out[name] }

// incoming translates the host's name of a tool into the caller's. The name of an
// unknown tool, which a model may call, stays as it is.
func (n *names) incoming(name string) string {
	if original, ok := n.in[name]; ok {
		return original
	}
	return name
}

// ids translates the ids of tool calls that the host would refuse. The translation depends on the id, so that a
// conversation is the same in every request.
type ids struct {
	rule idFormat
	out  map[string]string
	used map[string]bool
}

func newIDs(rule idFormat) *ids {
	return &ids{rule: rule, out: map[string]string{}, used: map[string]bool{}}
}

// outgoing translates the caller's id into the host's.
func (i *ids) outgoing(id string) string {
	if out, ok := i.out[id]; ok {
		return out
	}
	out := id
	for salt := 0; !i.rule.allows(out) || i.used[out]; salt++ {
		out = digest(fmt.Sprint(id, salt), 9)
	}
	i.out[id], i.used[out] = out, true
	return out
}

// allows reports whether the host accepts an id.
func (r idFormat) allows(id string) bool {
	switch r {
	case plainID:
		return plainIDs.MatchString(id)
	case shortID:
		return shortIDs.MatchString(id)
	}
	return len(id) <= 256
}

// digest returns a hash of s in n characters of [0-9a-z].
func digest(s string, n int) string {
	sum := sha256.Sum256([]byte(s))
	return new(big.Int).SetBytes(sum[:]).Text(36)[:n]
}
