-- +goose Up
-- The same tables, columns and rules as in ../mysql, whose comments hold here too.

CREATE TABLE tb_shop (
    id          INTEGER      NOT NULL PRIMARY KEY,
    name        VARCHAR(64)  NOT NULL DEFAULT '',
    picture     VARCHAR(512) NOT NULL DEFAULT '',
    max_sales   BIGINT       NOT NULL DEFAULT 0,
    max_units   BIGINT       NOT NULL DEFAULT 0,
    create_time DATETIME     NOT NULL,
    update_time DATETIME     NOT NULL
);
