package inquiry

import "github.com/mcpchain/mcpchain/mcpclient/mcp"

// SamplingCapabilityOf returns the capabilities of a handler beyond plain messages.
func SamplingCapabilityOf(h mcp.SamplingHandler) mcp.SamplingCapability {
	if h, ok := h.(interface{ SamplingCapability() mcp.SamplingCapability }); ok {
		return h.SamplingCapability()
	}
	return mcp.SamplingCapability{}
}

// ElicitationCapabilityOf returns the modes that a handler accepts.
func ElicitationCapabilityOf(h mcp.ElicitationHandler) mcp.ElicitationCapability {
	if h, ok := h.(interface {
		ElicitationCapability() mcp.ElicitationCapability
	}); ok {
		return h.ElicitationCapability()
	}
	return mcp.ElicitationCapability{Form: true}
}

// WrapSampling returns a handler that calls f and has the capability of h.
func WrapSampling(h mcp.SamplingHandler, f mcp.SamplingFunc) mcp.SamplingHandler {
	return samplingAs{f, SamplingCapabilityOf(h)}
}

type samplingAs struct {
	mcp.SamplingFunc
	capability mcp.SamplingCapability
}

func (s samplingAs) SamplingCapability() mcp.SamplingCapability { return s.capability }

// WrapElicitation returns a handler that calls f and has the capability of h.
func WrapElicitation(h mcp.ElicitationHandler, f mcp.ElicitationFunc) mcp.ElicitationHandler {
	return elicitationAs{f, ElicitationCapabilityOf(h)}
}

type elicitationAs struct {
	mcp.ElicitationFunc
	capability mcp.ElicitationCapability
}

func (e elicitationAs) ElicitationCapability() mcp.ElicitationCapability { return e.capability }
