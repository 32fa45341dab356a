package mcp

// SamplingCapabilityOf returns what a handler takes beyond plain messages.
func SamplingCapabilityOf(h SamplingHandler) SamplingCapability {
	if h, ok := h.(interface{ SamplingCapability() SamplingCapability }); ok {
		return h.SamplingCapability()
	}
	return SamplingCapability{}
}

// ElicitationCapabilityOf returns which modes a handler takes.
func ElicitationCapabilityOf(h ElicitationHandler) ElicitationCapability {
	if h, ok := h.(interface {
		ElicitationCapability() ElicitationCapability
	}); ok {
		return h.ElicitationCapability()
	}
	return ElicitationCapability{Form: true}
}

// WrapSampling returns a handler that calls f and has the capability of h.
func WrapSampling(h SamplingHandler, f SamplingFunc) SamplingHandler {
	return samplingAs{f, SamplingCapabilityOf(h)}
}

type samplingAs struct {
	SamplingFunc
	capability SamplingCapability
}

func (s samplingAs) SamplingCapability() SamplingCapability { return s.capability }

// WrapElicitation returns a handler that calls f and has the capability of h.
func WrapElicitation(h ElicitationHandler, f ElicitationFunc) ElicitationHandler {
	return elicitationAs{f, ElicitationCapabilityOf(h)}
}

type elicitationAs struct {
	ElicitationFunc
	capability ElicitationCapability
}

func (e elicitationAs) ElicitationCapability() ElicitationCapability { return e.capability }
