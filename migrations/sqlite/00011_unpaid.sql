-- +goose Up
-- The same table as in ../mysql, whose comments hold here too.

CREATE TABLE tb_unpaid (
    user_id   BIGINT   NOT NULL PRIMARY KEY,
    expired   BIGINT   NOT NULL,
    last_time DATETIME NOT NULL,
    number    BIGINT   NOT NULL
);
CREATE INDEX idx_unpaid_number ON tb_unpaid (number, user_id);
