// Package owners finds who answers for a pod: it follows the references to controllers up to the root, through objects of any
// kind, of which it reads nothing but the metadata. Ownership is a matter of UIDs: a name that another object has by now identifies no owner.
package owners
