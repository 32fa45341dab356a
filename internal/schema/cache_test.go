package schema

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestCacheCompilesOnce(t *testing.T) {
	var c Cache
	raw := []byte(`{"type":"string"}`)
	got := make([]*Schema, 16)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() { got[i], _ = c.Compile(raw) })
	}
	wg.Wait()
	for i, s := range got {
		check.That(t, s != nil && s == got[0], "got schema %d %p, want all the same %p", i, s, got[0])
	}
	raw[9] = 'S' // the cache holds a copy
	check.Text(t, check.Err(c.Compile(raw)), "")
}

func TestCacheRemembersErrors(t *testing.T) {
	var c Cache
	_, first := c.Compile([]byte(`{"type":"x"}`))
	_, second := c.Compile([]byte(`{"type":"x"}`))
	check.That(t, first != nil && first == second, "got %v then %v, want the same error", first, second)
}

func TestCacheIsBounded(t *testing.T) {
	var c Cache
	for i := range maxCached + 10 {
		c.entry(fmt.Appendf(nil, `{"const":%d}`, i))
	}
	check.Equal(t, "entries after the cache was full", len(c.compile), 10)
	large := strings.Repeat(" ", MaxSize-20)
	for i := range 100 {
		c.entry(fmt.Appendf(nil, `%s{"const":%d}`, large, i))
	}
	check.That(t, c.bytes <= maxCachedBytes, "got %d bytes, want at most %d", c.bytes, maxCachedBytes)
	check.Text(t, check.Err(c.Compile(make([]byte, MaxSize+1))), "want at most", "a schema over the bound refused")
}

// One schema may check many values at a time, even while its validator compiles patterns.
func TestConcurrentChecks(t *testing.T) {
	s := mustCompile(t, `{"patternProperties":{"^a":{"pattern":"^x+$"},"^b":{"type":"integer"}},"additionalProperties":false}`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				check.NoError(t, s.Validate([]byte(`{"a":"xx","b":1}`)))
				check.Text(t, s.Validate([]byte(`{"a":"y"}`)), "")
			}
		})
	}
	wg.Wait()
}
