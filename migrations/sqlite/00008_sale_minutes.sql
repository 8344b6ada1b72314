-- +goose Up
-- The same table as in ../mysql, whose comments hold here too.

CREATE TABLE tb_sale_minute (
    voucher_id BIGINT        NOT NULL,
    start_time DATETIME      NOT NULL,
    run        BIGINT        NOT NULL,
    asked      BIGINT        NOT NULL,
    totals     VARCHAR(1024) NOT NULL,
    seconds    TEXT          NOT NULL,
    PRIMARY KEY (voucher_id, start_time, run)
);
