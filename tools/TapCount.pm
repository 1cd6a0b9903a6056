package TapCount;

# prove --harness TapCount: as ever, and adds a line "passed failed skipped" to the
# file named by TAP_COUNTS. A program that ends badly counts as one more failure. In
# CI a skip whose reason is a thing that could have been installed is a failure too.
# With TAP_AGAIN programs that fail are not counted, but named in that file; with
# TAP_FAILED they are counted and named.

use strict;
use warnings;
use parent 'TAP::Harness';

my $installable = join '|', 'not installed', 'needs? root', 'no container engine', 'no images',
	'there is no(ne)?\b', 'has no matplotlib', 'could not find';

sub new {
	my ($class, @args) = @_;
	my $self = $class->SUPER::new(@args);
	$self->{lacking} = [];
	$self->callback(made_parser => sub {
		my ($parser, $job) = @_;
		$parser->callback(test => sub {
			my ($test) = @_;
			push @{$self->{lacking}}, $job->[0] . ': ' . $test->as_string
				if $test->has_skip && $test->explanation =~ /$installable/i;
		});
	});
	return $self;
}

sub summary {
	my ($self, $result, @more) = @_;
	my $lacking = ($ENV{CI} // '') eq 'true' ? $self->{lacking} : [];
	my ($passed, $failed, $skipped) = (0, scalar @$lacking, -@$lacking);
	my (@again, @bad);

	for my $name ($result->descriptions) {
		my ($parser) = $result->parsers($name);
		my $bad = scalar($parser->failed) || $parser->exit || $parser->parse_errors;

		if ($bad && $ENV{TAP_AGAIN}) {
			push @again, $name;
			next;
		}
		push @bad, $name if $bad;
		$passed += scalar($parser->passed) - scalar($parser->skipped);
		$failed += scalar($parser->failed) || ($bad ? 1 : 0);
		$skipped += scalar($parser->skipped);
	}
	print "In CI this must not be skipped: $_\n" for @$lacking;
	append($ENV{TAP_COUNTS}, "$passed $failed $skipped\n");
	append($ENV{TAP_AGAIN}, map { "$_\n" } @again) if @again;
	append($ENV{TAP_FAILED}, map { "$_\n" } @bad) if @bad && $ENV{TAP_FAILED};
	return $self->SUPER::summary($result, @more);
}

sub append {
	my ($path, @lines) = @_;

	open my $out, '>>', $path or die "$path: $!";
	print $out @lines;
	close $out or die "$path: $!";
}

1;
