// Package owners finds the owners of a pod. It follows controller references up to the root, through objects of any kind, and reads only
// their metadata. It compares UIDs, because another object may have taken the name of an owner.
package owners
