package run

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Key identifies a run. A run belongs to one tenant, and no key of another tenant reaches it.
// Keys are compared byte by byte. Both strings are UTF-8 without U+0000, at most 1 KiB long; ID
// is not empty.
type Key struct {
	Tenant string `json:"tenant,omitzero"`
	ID     string `json:"id"`
}

const maxName = 1 << 10 // bytes of an id or tenant

// Check returns an error if the key is invalid.
func (k Key) Check() error {
	if k.ID == "" {
		return errors.New("the id is empty")
	}
	for _, name := range []string{k.ID, k.Tenant} {
		if len(name) > maxName || !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
			return fmt.Errorf("the id and the tenant have to be UTF-8 without U+0000, of at most %d bytes", maxName)
		}
	}
	return nil
}
