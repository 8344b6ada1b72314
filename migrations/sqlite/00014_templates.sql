-- +goose Up
-- The same table as in ../mysql, whose comments hold here too.

CREATE TABLE tb_voucher_template (
    id          INTEGER     NOT NULL PRIMARY KEY AUTOINCREMENT,
    shop_id     BIGINT      NOT NULL,
    name        VARCHAR(64) NOT NULL,
    fields      TEXT        NOT NULL,
    create_time DATETIME    NOT NULL,
    UNIQUE (shop_id, name)
);
