package openaimodel

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/chat"
)

// refusesThoughts reports whether the host refuses thoughts that were encrypted for another key or by another host.
func refusesThoughts(err error) bool {
	e, ok := errors.AsType[*chat.Error](err)
	return ok && e.Status == http.StatusBadRequest &&
		(e.Code == "invalid_encrypted_content" || strings.Contains(strings.ToLower(e.Message), "encrypted content"))
}

// refused is the set of thoughts in a conversation that its host refuses.
type refused map[string]bool

// add adds all thoughts in messages to the set and removes them from messages. It reports whether there were any.
func (r refused) add(messages []chat.Message) bool {
	for i := range messages {
		for _, item := range messages[i].Items {
			if item.Raw != nil {
				r[string(item.Raw)] = true
			}
		}
	}
	return r.remove(messages)
}

// remove removes refused thoughts from messages, and reports whether there were any.
func (r refused) remove(messages []chat.Message) (found bool) {
	if len(r) == 0 {
		return false
	}
	for i := range messages {
		before := len(messages[i].Items)
		messages[i].Items = slices.DeleteFunc(messages[i].Items, func(item chat.Item) bool { return item.Raw != nil && r[string(item.Raw)] })
		found = found || len(messages[i].Items) < before
	}
	return found
}
