module github.com/holdfast-project/holdfast/shared

go 1.26.0


require github.com/redis/go-redis/v9 v9.23.0
