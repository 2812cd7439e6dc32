module github.com/holdfast-project/holdfast/elastic-operator

go 1.26.0

replace (
	github.com/holdfast-project/holdfast/shared => ../shared
	github.com/holdfast-project/holdfast/shared/bootstrap => ../shared/bootstrap
)

require github.com/google/go-cmp v0.7.0
