package coordination

// knownKinds are the kinds that this version gives to causes.
var knownKinds = map[string]bool{
	KindExit: true, KindReplaced: true, KindPod: true, KindRecovery: true, KindFinished: true, KindGap: true, KindTimeout: true,
	KindUnkilled: true, KindStops: true,
}

// KindLabel is the kind of a cause as a label of a metric: what no version of ours has given, be it that of a newer agent or a
// forged one, is "other", so that nobody can make series without end.
func KindLabel(kind string) string {
	if knownKinds[kind] {
		return kind
	}
	return "other"
}
