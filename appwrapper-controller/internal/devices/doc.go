// Package devices knows which devices of dynamic resource allocation are tainted: by their driver, in a ResourceSlice, or by an
// administrator, in a DeviceTaintRule. It is pure but for its memory: what it is shown, it remembers.
package devices
