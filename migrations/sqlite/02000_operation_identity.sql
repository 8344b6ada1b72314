-- +goose Up
-- The comments are in the file for MySQL.
ALTER TABLE tb_voucher_operation ADD COLUMN identity BIGINT NULL;
