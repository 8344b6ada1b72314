-- dead_letter.lua: moves one stream entry that cannot be decoded to the dead letters. Only the call that still finds it
-- pending writes the dead letter, so there is one, however often it is sent.
--
-- KEYS (one hash slot)
--   1  orders  stream
--   2  dead    stream
-- ARGV
--   1  group
--   2  id of the entry
--   3  why it cannot be decoded, for people
--   4… its fields and values as they stand
--
-- Returns 1 (moved) or 0 (it was not pending any more).
-- The dead letter has the fields key (the entry's id), why, and the entry's own, each with "raw." before its name. Of more
-- than 1,000 it keeps the first ones, and has a field left_out with the number of the others.
--
-- Needs: number

local MOST = 1000 -- fields; unpack fails for some thousands of elements

local fields = (#ARGV - 3) / 2
if fields < 0 or fields ~= math.floor(fields) then
  return redis.error_reply('ERR dead_letter.lua: bad arguments')
end
local kept = math.min(fields, MOST)
local letter = {'key', ARGV[2], 'why', ARGV[3]}
if kept < fields then
  letter[5], letter[6] = 'left_out', whole(fields - kept)
end
for i = 4, 3 + 2 * kept, 2 do
  letter[#letter + 1] = 'raw.' .. ARGV[i]
  letter[#letter + 1] = ARGV[i + 1]
end
-- A script that fails after a write is not undone, and an entry that is acknowledged without a dead letter would be lost.
-- So what can fail comes first: a key of another type, here.
redis.call('XLEN', KEYS[1])
redis.call('XLEN', KEYS[2])
-- XACK is never refused for want of memory, and nothing after a script's first write is.
if redis.call('XACK', KEYS[1], ARGV[1], ARGV[2]) == 0 then
  return 0
end
redis.call('XADD', KEYS[2], '*', unpack(letter))
redis.call('XDEL', KEYS[1], ARGV[2])
return 1
