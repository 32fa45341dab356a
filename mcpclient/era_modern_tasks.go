package mcpclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/internal/metakey"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func (e modernEra) taskable(_ *mcp.Tool, ours *offers, server *mcp.ServerCapabilities, undeclared bool) error {
	if !ours.tasks && !undeclared {
		return errors.New("Options.Protocol.Capabilities does not declare the extension " + metakey.Tasks)
	}
	if _, ok := server.Extensions[metakey.Tasks]; !ok && !undeclared {
		err := error(&CapabilityError{Capability: "the extension " + metakey.Tasks})
		if server.Tasks != nil {
			err = fmt.Errorf("%w (it has the tasks of revision %s, see Options.Protocol.Revision)", err, mcp.Revision20251125)
		}
		return err
	}
	return nil
}

func (e modernEra) taskRequest(r *request, _ time.Duration) *request { return r }

func (e modernEra) created(raw json.RawMessage) (mcp.TaskState, bool, error) {
	var result struct {
		ResultType string `json:"resultType"`
	}
	if err := json.Unmarshal(raw, &result); err != nil || result.ResultType != "task" {
		return mcp.TaskState{}, false, err
	}
	task, err := e.polled(raw)
	return task.state, true, err
}

func (e modernEra) polled(raw json.RawMessage) (polledTask, error) {
	var task polledTask
	if err := json.Unmarshal(raw, &task.taskOutcome); err != nil {
		return polledTask{}, fmt.Errorf("%w: %v", mcp.ErrInvalidResult, err)
	}
	if err := json.Unmarshal(raw, &task.state); err != nil {
		return polledTask{}, fmt.Errorf("%w: %v", mcp.ErrInvalidResult, err)
	}
	return task, nil
}
