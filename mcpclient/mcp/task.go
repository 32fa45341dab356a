package mcp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// TaskStatus is the status of a task.
type TaskStatus string

// The statuses. The last three are final.
const (
	TaskWorking       TaskStatus = "working"
	TaskInputRequired TaskStatus = "input_required"
	TaskCompleted     TaskStatus = "completed"
	TaskFailed        TaskStatus = "failed"
	TaskCancelled     TaskStatus = "cancelled"
)

// Final reports whether a task with this status has ended.
func (s TaskStatus) Final() bool {
	return s == TaskCompleted || s == TaskFailed || s == TaskCancelled
}

// TaskState is what a server says of a task.
type TaskState struct {
	ID           string
	Status       TaskStatus
	Message      string         // for a person, may be empty
	CreatedAt    string         // ISO 8601, as the server wrote it
	UpdatedAt    string         // in the form of CreatedAt
	TTL          *time.Duration // since CreatedAt, after which the server may forget it; nil: never
	PollInterval time.Duration  // the shortest interval between polls; zero if the server does not say
}

// taskWire is a task in either design: revision 2025-11-25 has ttl and pollInterval, the extension
// io.modelcontextprotocol/tasks has ttlMs and pollIntervalMs. All four are milliseconds.
type taskWire struct {
	ID             string     `json:"taskId"`
	Status         TaskStatus `json:"status"`
	Message        string     `json:"statusMessage,omitempty"`
	CreatedAt      string     `json:"createdAt,omitempty"`
	UpdatedAt      string     `json:"lastUpdatedAt,omitempty"`
	TTL            *float64   `json:"ttl,omitempty"`
	PollInterval   *float64   `json:"pollInterval,omitempty"`
	TTLMs          *float64   `json:"ttlMs"`
	PollIntervalMs *float64   `json:"pollIntervalMs,omitempty"`
}

// MarshalJSON writes the state as in the extension.
func (s TaskState) MarshalJSON() ([]byte, error) {
	wire := taskWire{
		ID:        s.ID,
		Status:    s.Status,
		Message:   s.Message,
		CreatedAt: s.CreatedAt,
		UpdatedAt: s.UpdatedAt,
	}
	if s.TTL != nil {
		wire.TTLMs = new(float64(*s.TTL) / float64(time.Millisecond))
	}
	if s.PollInterval != 0 {
		wire.PollIntervalMs = new(float64(s.PollInterval) / float64(time.Millisecond))
	}
	return jsonrpc.Marshal(wire)
}

// UnmarshalJSON reads a task, of revision 2025-11-25 or of the extension. A status that the
// protocol does not have is an error, and so is a missing id.
func (s *TaskState) UnmarshalJSON(data []byte) error {
	var wire taskWire
	if err := json.Unmarshal(data, &wire); err != nil {
		return err
	}
	switch wire.Status {
	case TaskWorking, TaskInputRequired, TaskCompleted, TaskFailed, TaskCancelled:
	default:
		return fmt.Errorf("status %q of a task", excerpt.Cut(string(wire.Status)))
	}
	if wire.ID == "" {
		return errors.New("task has no id")
	}
	*s = TaskState{
		ID:        wire.ID,
		Status:    wire.Status,
		Message:   wire.Message,
		CreatedAt: wire.CreatedAt,
		UpdatedAt: wire.UpdatedAt,
	}
	if ttl := cmp.Or(wire.TTLMs, wire.TTL); ttl != nil {
		s.TTL = new(milliseconds(*ttl))
	}
	if poll := cmp.Or(wire.PollIntervalMs, wire.PollInterval); poll != nil {
		s.PollInterval = milliseconds(*poll)
	}
	return nil
}

// milliseconds returns a duration from 0 to a year.
func milliseconds(ms float64) time.Duration {
	const year = 365 * 24 * time.Hour
	return time.Duration(max(0, min(ms, float64(year/time.Millisecond))) * float64(time.Millisecond))
}
